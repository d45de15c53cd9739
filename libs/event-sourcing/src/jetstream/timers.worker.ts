import { wordsOf } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Pool, PoolClient } from 'pg';
import type { DueTimer, JobReaction, Process } from '../process.js';
import { processConsumer } from './consumers.js';
import { jobOfTimer, publishJob, type TimerOrigin } from './jobs.publisher.js';
import type { LaneLog } from './lane.js';
import { inTransaction } from './transaction.js';

export interface TimersOptions {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly pool: Pool;
  readonly processes: readonly Process<unknown>[];
  readonly log: LaneLog;
}

const POLL_MS = 500;
const BATCH = 100;

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
 * (`for update skip locked`), also when the service or NATS was away when it was due: then as soon as they are back.
 */
export class TimersWorker {
  private running = false;
  private loop: Promise<void> | undefined;
  private stopWaiting: (() => void) | undefined;
  private failures = 0;

  constructor(private readonly options: TimersOptions) {}

  start(): void {
    if (this.options.processes.every((process) => process.due === undefined)) return;
    this.running = true;
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.running = false;
    this.stopWaiting?.();
    await this.loop;
  }

  private async run(): Promise<void> {
    while (this.running) {
      let fired = 0;
      try {
        fired = await this.fireDue();
        this.failures = 0;
      } catch (error) {
        this.failures += 1;
        if (this.failures === 1) this.options.log.warn(`timers: ${wordsOf(error)}; trying again`);
      }
      if (fired < BATCH) await this.wait();
    }
  }

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
    if (process?.due !== undefined) await this.react(client, process, row);
    await client.query('delete from timers where process = $1 and cluster_key = $2 and key = $3 and due_at = $4', [
      row.process,
      row.cluster_key,
      row.key,
      row.due_at,
    ]);
  }

  private async react(client: PoolClient, process: Process<unknown>, row: TimerRow): Promise<void> {
    const { nc, service } = this.options;
    const found = await client.query<{ doc: unknown }>(
      'select doc from process_state where process = $1 and cluster_key = $2',
      [row.process, row.cluster_key],
    );
    const timer = { key: row.key, dueAt: row.due_at.toISOString(), data: row.data };
    const reactions = process.due?.(found.rows[0]?.doc ?? process.initial, timer) ?? [];
    for (const [index, reaction] of reactions.entries()) {
      if (reaction.kind === 'job') {
        const at = { service, process: row.process, index };
        await publishJob(
          nc,
          service,
          jobOfTimer(at, { ...timer, clusterKey: row.cluster_key, cause: row.cause }, reaction as JobReaction),
        );
      } else if (reaction.kind === 'timer') {
        await client.query(
          `insert into timers (process, cluster_key, key, due_at, cause, data) values ($1, $2, $3, $4, $5, $6)
           on conflict (process, cluster_key, key) do update set due_at = excluded.due_at, data = excluded.data`,
          [
            row.process,
            row.cluster_key,
            reaction.key,
            reaction.dueAt,
            JSON.stringify(row.cause),
            JSON.stringify(reaction.data),
          ],
        );
      } else {
        await client.query('delete from timers where process = $1 and cluster_key = $2 and key = $3', [
          row.process,
          row.cluster_key,
          reaction.key,
        ]);
      }
    }
  }

  private wait(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, POLL_MS);
      this.stopWaiting = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
