import { wordsOf } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Pool, PoolClient } from 'pg';
import type { DueTimer, Process, Reaction } from '../process.js';
import { untilShared } from './shared.interval.js';
import { WakeSignal } from './wake.signal.js';
import { processConsumer } from './consumers.js';
import { jobOfTimer, publishJob, type TimerOrigin } from './jobs.publisher.js';
import type { PartitionLog } from './partition.consumer.js';
import { askOf, readStates, writeTimer } from './partition.store.js';
import { inTransaction, orNothing } from './transaction.js';

export interface TimersOptions {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly pool: Pool;
  readonly processes: readonly Process<unknown>[];
  readonly log: PartitionLog;
}

/** How soon a timer fires at the latest whose replica ended between setting it and firing it. */
const LOOK_MS = 5_000;
const RETRY_MS = 500;
const BATCH = 100;
/** How long a timer waits that the pure code of its process cannot take. */
const PUT_OFF_MS = 60_000;

interface TimerRow {
  readonly process: string;
  readonly cluster_key: string;
  readonly key: string;
  readonly due_at: Date;
  readonly cause: TimerOrigin['cause'];
  readonly data: DueTimer['data'];
}

/**
 * Fires timers: rows that were written in the transaction of the event that set them. Each fires once, on one replica
 * (`for update skip locked`), also when the service or NATS was away when it was due: then as soon as they are back. The replica that
 * set a timer wakes its own worker, which sleeps until the next one is due.
 */
export class TimersWorker {
  private running = false;
  private loop: Promise<void> | undefined;
  private readonly wakeSignal = new WakeSignal();
  private failures = 0;
  /** When it looks again; Infinity: it is looking. */
  private looksAtMs = Infinity;

  constructor(private readonly options: TimersOptions) {}

  start(): void {
    if (this.options.processes.every((process) => process.due === undefined)) return;
    this.running = true;
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.running = false;
    this.wakeSignal.ring();
    await this.loop;
  }

  /** A timer was set (epoch ms). Most are due later than this worker looks again by itself. */
  wake(dueAtMs: number): void {
    if (dueAtMs < this.looksAtMs) this.wakeSignal.ring();
  }

  private async run(): Promise<void> {
    while (this.running) {
      let waitMs = RETRY_MS;
      this.looksAtMs = Infinity;
      this.wakeSignal.reset(); // Before looking: a timer that is set from now on may not be found.
      try {
        waitMs = await this.untilDueMs();
        // What is due and was not fired is being fired by another replica.
        if (waitMs === 0 && (await this.fireDue()) === 0) waitMs = RETRY_MS;
        this.failures = 0;
      } catch (error) {
        this.failures += 1;
        if (this.failures === 1) this.options.log.warn(`timers: ${wordsOf(error)}; trying again`);
        waitMs = RETRY_MS;
      }
      this.looksAtMs = Date.now() + waitMs;
      if (waitMs > 0 && this.running && !this.wakeSignal.isSet) await this.wakeSignal.pause(waitMs);
    }
  }

  /** By the clock of the database; 0: one is due. */
  private async untilDueMs(): Promise<number> {
    const found = await this.options.pool.query<{ ms: number | null }>(
      `select (extract(epoch from min(due_at) - now()) * 1000)::float8 as ms from timers`,
    );
    return Math.min(Math.max(Math.ceil(found.rows[0]?.ms ?? LOOK_MS), 0), untilShared(LOOK_MS));
  }

  /** How many it has fired. */
  private fireDue(): Promise<number> {
    return inTransaction(this.options.pool, async (client) => {
      const due = await client.query<TimerRow>(
        `select process, cluster_key, key, due_at, cause, data from timers
          where due_at <= now() order by due_at limit $1 for update skip locked`,
        [BATCH],
      );
      for (const row of due.rows) await this.fire(client, row);
      return due.rows.length;
    });
  }

  private async fire(client: PoolClient, row: TimerRow): Promise<void> {
    const process = this.options.processes.find((candidate) => processConsumer(candidate) === row.process);
    const state = await this.stateOf(client, row);
    const timer: DueTimer = { key: row.key, dueAt: row.due_at.toISOString(), data: row.data };
    let reactions: readonly Reaction[];
    try {
      reactions = process?.due?.(state ?? process.initial, timer) ?? [];
    } catch (error) {
      return this.putOff(client, row, error);
    }
    const refused = await orNothing(client, () => this.carryOut(client, row, reactions));
    if (refused !== undefined) return this.putOff(client, row, refused);
    await client.query('delete from timers where process = $1 and cluster_key = $2 and key = $3 and due_at = $4', [
      row.process,
      row.cluster_key,
      row.key,
      row.due_at,
    ]);
  }

  /** A fault in pure code or in its data affects only its own timer: no other waits for it. */
  private async putOff(client: PoolClient, row: TimerRow, error: unknown): Promise<void> {
    this.options.log.error(
      `${row.process} cannot take the timer ${row.key} of ${row.cluster_key}; it is put off: ${
        error instanceof Error ? (error.stack ?? error.message) : String(error)
      }`,
    );
    await client.query(
      `update timers set due_at = now() + $4 * interval '1 millisecond' where process = $1 and cluster_key = $2 and key = $3`,
      [row.process, row.cluster_key, row.key, PUT_OFF_MS],
    );
  }

  private async stateOf(client: PoolClient, row: TimerRow): Promise<unknown> {
    return (await readStates(askOf(client), row.process, [row.cluster_key])).get(row.cluster_key);
  }

  private async carryOut(client: PoolClient, row: TimerRow, reactions: readonly Reaction[]): Promise<void> {
    const { nc, service } = this.options;
    const { process, cluster_key: clusterKey, key, cause, data } = row;
    const origin = { process, key, dueAt: row.due_at.toISOString(), data, clusterKey, cause };
    for (const [index, reaction] of reactions.entries()) {
      if (reaction.kind === 'job')
        await publishJob(nc, service, jobOfTimer({ service, process, index }, origin, reaction));
      else await writeTimer(client, { process, clusterKey, cause, reaction });
    }
  }
}
