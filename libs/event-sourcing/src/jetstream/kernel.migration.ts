import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Messages of the log that readers skip because they are not events. */
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
      create table quarantined (
        consumer text not null,
        cluster_key text not null,
        seq bigint not null,
        event_id text not null,
        error text not null,
        announced boolean not null default false,
        quarantined_at timestamptz not null default now(),
        primary key (consumer, cluster_key)
      );
      create table job_attempts (
        job_id text primary key,
        attempts integer not null,
        failed_at timestamptz not null default now()
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table positions, process_state, timers, quarantined, job_attempts');
  }
}

/** Unlogged: after a crash of the database no lease is held, as if all had expired. */
export class TaskLeases1700000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create unlogged table task_leases (
        scope text not null,
        name text not null,
        holder text not null,
        until timestamptz not null,
        primary key (scope, name),
        unique (holder)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table task_leases');
  }
}

/** Entries of large containers in the states of processes, each by its path in the document (state.pieces.ts). */
export class StatePieces1700000000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table process_state_pieces (
        process text not null,
        cluster_key text not null,
        path text not null,
        doc jsonb not null,
        primary key (process, cluster_key, path)
      )`);
  }

  /** A release without it folds every state again, because its processes have other versions. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table process_state_pieces');
  }
}

/** Migrations that every service's database runs before its own. */
export const KERNEL_MIGRATIONS = [
  KernelTables1700000000000,
  RejectedEvents1700000000001,
  TaskLeases1700000000002,
  StatePieces1700000000003,
] as const;
