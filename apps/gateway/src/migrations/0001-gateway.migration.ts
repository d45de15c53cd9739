import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = [
  'namespaces',
  'connections',
  'clusters',
  'nodes',
  'operations',
  'quarantined_clusters',
  'api_tokens',
  'idempotency',
];

/** The gateway's read models, its tokens and the answers that it repeats. */
export class GatewayTables1763700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table namespaces (key text primary key, seq bigint not null, doc jsonb not null);
      create table connections (key text primary key, seq bigint not null, doc jsonb not null);
      create table clusters (
        key text primary key,
        seq bigint not null,
        doc jsonb not null,
        namespace text generated always as (doc->>'namespace') stored
      );
      create index clusters_namespace on clusters (namespace, key);
      create table nodes (
        key text primary key,
        seq bigint not null,
        doc jsonb not null,
        cluster_key text generated always as ((doc->>'namespace') || '/' || (doc->>'cluster')) stored
      );
      create index nodes_cluster on nodes (cluster_key, key);
      create table quarantined_clusters (key text primary key, seq bigint not null, doc jsonb not null);
      create table operations (key text primary key, seq bigint not null, doc jsonb not null);
      create table api_tokens (
        id text primary key,
        name text not null,
        sha256 bytea not null,
        roles jsonb not null,
        created_at timestamptz not null,
        revoked_at timestamptz
      );
      create table idempotency (
        actor text not null,
        key text not null,
        request_sha256 text not null,
        begun_at timestamptz not null,
        answer jsonb,
        primary key (actor, key)
      );
      create index idempotency_begun_at on idempotency (begun_at)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table ${TABLES.join(', ')}`);
  }
}
