import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The read model of the cluster templates of each namespace. */
export class TemplateTable1764200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'create table cluster_templates (key text primary key, seq bigint not null, doc jsonb not null)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table cluster_templates');
  }
}
