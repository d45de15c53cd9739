import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Not logged: after a crash of the database nobody holds anything, which is what an expired hold says too. */
export class RunningSteps1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create unlogged table running_steps (
        uid text not null,
        step text not null,
        holder text not null,
        until timestamptz not null,
        primary key (uid, step),
        unique (holder)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table running_steps');
  }
}
