import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The read model of what is declared of each cluster. */
export class ManifestTable1764100000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table manifests (key text primary key, seq bigint not null, doc jsonb not null)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table manifests');
  }
}
