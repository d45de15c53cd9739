import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How long the machines of each cluster have run. */
export class MachineHoursTable1764700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table machine_hours (key text primary key, seq bigint not null, doc jsonb not null)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table machine_hours');
  }
}
