import type { MigrationInterface, QueryRunner } from 'typeorm';

/** API tokens may end by themselves; null: this one does not. */
export class TokenExpiry1763900000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table api_tokens add column expires_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table api_tokens drop column expires_at');
  }
}
