import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sessions of the page, and the one-time codes that begin them; of both only hashes. They end with their tokens. */
export class SessionTables1764500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of ['page_sessions', 'sign_in_codes'])
      await runner.query(`
        create table ${table} (
          id text primary key,
          sha256 bytea not null,
          token_id text not null references api_tokens (id) on delete cascade,
          created_at timestamptz not null,
          expires_at timestamptz not null
        );
        create index ${table}_token on ${table} (token_id, created_at)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['sign_in_codes', 'page_sessions']) await runner.query(`drop table ${table}`);
  }
}
