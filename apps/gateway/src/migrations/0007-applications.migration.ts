import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The read model of the catalogue of applications. */
export class ApplicationTables1764400000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of ['applications', 'application_versions'])
      await runner.query(`create table ${table} (key text primary key, seq bigint not null, doc jsonb not null)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['application_versions', 'applications']) await runner.query(`drop table ${table}`);
  }
}
