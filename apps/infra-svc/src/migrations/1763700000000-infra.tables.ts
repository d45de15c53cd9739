import type { MigrationInterface, QueryRunner } from 'typeorm';

const document = (table: string, ...generated: readonly string[]): string =>
  `create table ${table} (${['key text primary key', 'seq bigint not null', 'doc jsonb not null', ...generated].join(', ')})`;

const TABLES = ['namespaces', 'connections', 'resources', 'clusters', 'machines'] as const;

/** The projections of infra-svc: one document per key, with columns for people and queries. */
export class InfraTables1763700000000 implements MigrationInterface {
  readonly name = 'InfraTables1763700000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(document('namespaces'));
    await runner.query(document('connections', "provider text generated always as (doc->>'provider') stored"));
    await runner.query(document('resources'));
    await runner.query(document('clusters', "status text generated always as (doc->>'status') stored"));
    await runner.query(
      document(
        'machines',
        "cluster text generated always as (doc->>'cluster') stored",
        "connection text generated always as (doc->>'connection') stored",
      ),
    );
    await runner.query('create index machines_by_connection on machines (connection)');
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of TABLES) await runner.query(`drop table ${table}`);
  }
}
