import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An idempotency key is held by the replica that works on its request, for as long as the replica lives. */
export class IdempotencyLeases1764000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table idempotency
        add column command_id uuid not null default gen_random_uuid(),
        add column holder uuid not null default gen_random_uuid(),
        add column held_until timestamptz not null default clock_timestamp();
      create index idempotency_holder on idempotency (holder) where answer is null`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table idempotency drop column command_id, drop column holder, drop column held_until');
  }
}
