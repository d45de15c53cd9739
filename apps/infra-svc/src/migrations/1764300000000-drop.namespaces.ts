import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Namespaces are read from the log, because a row may be older than a deletion. */
export class DropNamespaces1764300000000 implements MigrationInterface {
  readonly name = 'DropNamespaces1764300000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('drop table namespaces');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('create table namespaces (key text primary key, seq bigint not null, doc jsonb not null)');
  }
}
