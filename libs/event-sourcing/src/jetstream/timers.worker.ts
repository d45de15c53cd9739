import { wordsOf } from '@fairlead/contracts';
import type { Pool } from 'pg';
import type { Process } from '../process.js';
import { untilShared } from './shared.interval.js';
import { WakeSignal } from './wake.signal.js';
import { processConsumer } from './consumers.js';
import type { PartitionLog } from './partition.consumer.js';
import type { Mark } from './partition.fold.js';
import type { TimerChange } from './partition.store.js';

export interface TimersOptions {
  readonly pool: Pool;
  readonly processes: readonly Process<unknown>[];
  /** false: another replica owns the cluster. */
  readonly mark: (mark: Mark) => boolean;
  readonly log: Pick<PartitionLog, 'warn'>;
}

/** Maximum delay of a timer whose replica ended between setting and firing it. */
const LOOK_MS = 5_000;
const RETRY_MS = 500;
const BATCH = 1_000;
/** When a fired timer fires again, unless its state was committed by then. */
const AGAIN_MS = 60_000;

interface TimerRow {
  readonly process: string;
  readonly cluster_key: string;
  readonly due_at: Date;
  readonly cause: TimerChange['cause'];
}

/**
 * Fires timers: rows written in the transaction of the event that set them. The replica that owns the cluster marks its
 * state, and the commit of that state replaces the row, so a timer that becomes due while no replica runs fires as soon
 * as one does. The replica that sets a timer wakes its own worker, which otherwise sleeps until the next one is due.
 */
export class TimersWorker {
  private running = false;
  private loop: Promise<void> | undefined;
  private readonly wakeSignal = new WakeSignal();
  private failures = 0;
  /** When it checks again; Infinity: it is checking. */
  private looksAtMs = Infinity;
  /** When fired timers fire again. */
  private readonly fired = new Map<string, number>();

  constructor(private readonly options: TimersOptions) {}

  start(): void {
    if (this.options.processes.length === 0) return;
    this.running = true;
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.running = false;
    this.wakeSignal.ring();
    await this.loop;
  }

  /** A timer was set (epoch ms). Most are due later than this worker's next check. */
  wake(dueAtMs: number): void {
    if (dueAtMs < this.looksAtMs) this.wakeSignal.ring();
  }

  private async run(): Promise<void> {
    while (this.running) {
      let waitMs = RETRY_MS;
      this.looksAtMs = Infinity;
      this.wakeSignal.reset(); // Before checking: a timer that is set from now on may not be found.
      try {
        waitMs = await this.untilDueMs();
        // A due timer that was not fired is being committed, or belongs to another replica.
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
      `select (extract(epoch from min(due_at) - now()) * 1000)::float8 as ms from timers where process = any($1)`,
      [this.options.processes.map(processConsumer)],
    );
    return Math.min(Math.max(Math.ceil(found.rows[0]?.ms ?? LOOK_MS), 0), untilShared(LOOK_MS));
  }

  /** Returns the number of fired timers. */
  private async fireDue(): Promise<number> {
    const due = await this.options.pool.query<TimerRow>(
      `select process, cluster_key, due_at, cause from timers
        where due_at <= now() and process = any($1) order by due_at limit $2`,
      [this.options.processes.map(processConsumer), BATCH],
    );
    const nowMs = performance.now();
    for (const [key, againAtMs] of this.fired) if (againAtMs <= nowMs) this.fired.delete(key);
    return due.rows.filter((row) => this.fire(row, nowMs)).length;
  }

  private fire({ process, cluster_key: clusterKey, due_at: dueAt, cause }: TimerRow, nowMs: number): boolean {
    const now = dueAt.toISOString();
    const key = `${process}|${clusterKey}|${now}`;
    if (this.fired.has(key)) return false;
    const { causationId: eventId, correlationId } = cause;
    const mark: Mark = { kind: 'woken', consumer: process, clusterKey, wake: { now, eventId, correlationId } };
    if (!this.options.mark(mark)) return false;
    this.fired.set(key, nowMs + AGAIN_MS);
    return true;
  }
}
