import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Messages of the log that readers skip because they are no events. */
export class RejectedEvents1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table rejected_events (
        place text not null,
        reason text not null,
        count bigint not null,
        first_seq bigint not null,
        last_seq bigint not null,
        subject text not null,
        detail text not null,
        rejected_at timestamptz not null default now(),
        primary key (place, reason)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table rejected_events');
  }
}

/** The kernel's own tables, in every service's database. */
export class KernelTables1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table positions (
        consumer text not null,
        partition smallint not null,
        seq bigint not null,
        epoch integer not null default 0,
        primary key (consumer, partition)
      );
      create table process_state (
        process text not null,
        cluster_key text not null,
        seq bigint not null,
        doc jsonb not null,
        primary key (process, cluster_key)
      );
      create table timers (
        process text not null,
        cluster_key text not null,
        key text not null,
        due_at timestamptz not null,
        cause jsonb not null,
        data jsonb not null,
        primary key (process, cluster_key, key)
      );
      create index timers_due_at on timers (due_at);
      create table parked (
        consumer text not null,
        cluster_key text not null,
        seq bigint not null,
        event_id text not null,
        error text not null,
        announced boolean not null default false,
        parked_at timestamptz not null default now(),
        primary key (consumer, cluster_key)
      );
      create table job_attempts (
        job_id text primary key,
        attempts integer not null,
        failed_at timestamptz not null default now()
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table positions, process_state, timers, parked, job_attempts');
  }
}

/** What every service's database gets before its own tables. */
export const KERNEL_MIGRATIONS = [KernelTables1700000000000, RejectedEvents1700000000001] as const;
