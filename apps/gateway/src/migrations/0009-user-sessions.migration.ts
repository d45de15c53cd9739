import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sessions of the page that users began at the identity provider; of each only the hash, and a refresh token that only the session opens. */
export class UserSessionTable1764600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table user_sessions (
        id text primary key,
        sha256 bytea not null,
        user_id text not null,
        claims jsonb not null,
        sealed bytea,
        created_at timestamptz not null,
        checked_at timestamptz not null,
        token_expires_at timestamptz not null,
        expires_at timestamptz not null
      );
      create index user_sessions_user on user_sessions (user_id, created_at)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table user_sessions');
  }
}
