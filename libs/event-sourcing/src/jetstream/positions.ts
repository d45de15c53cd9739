import { parseEventSubject, STREAMS } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Pool } from 'pg';
import type { Lanes } from './lanes.js';

/** Lets a reader wait until the service's own rows show an event: read your writes. */
export interface Positions {
  /** True when every consumer of the service has passed `seq`; false when the time is over; undefined when the log has no such event (yet). */
  waitFor(seq: number, timeoutMs: number): Promise<boolean | undefined>;
}

const POLL_MS = 25;

export class DatabasePositions implements Positions {
  constructor(
    private readonly options: {
      readonly nc: NatsConnection;
      readonly pool: Pool;
      readonly lanes: Pick<Lanes, 'onAdvance'>;
      readonly consumers: readonly string[];
    },
  ) {}

  async waitFor(seq: number, timeoutMs: number): Promise<boolean | undefined> {
    const partition = await this.partitionOf(seq);
    if (partition === undefined) return undefined;
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const advanced = this.nextAdvance(partition);
      if (await this.passed(partition, seq)) return true;
      const left = deadline - Date.now();
      if (left <= 0) return false;
      // This replica's own lane tells at once; another replica's progress shows only in the database.
      await advanced(Math.min(POLL_MS, left));
    }
  }

  private async passed(partition: number, seq: number): Promise<boolean> {
    const { pool, consumers } = this.options;
    const found = await pool.query<{ n: string }>(
      'select count(*) as n from positions where partition = $1 and consumer = any($2) and seq >= $3',
      [partition, consumers, seq],
    );
    return Number(found.rows[0]?.n) === consumers.length;
  }

  private nextAdvance(partition: number): (ms: number) => Promise<void> {
    let advanced = false;
    let wake: (() => void) | undefined;
    const stop = this.options.lanes.onAdvance((of) => {
      if (of !== partition) return;
      advanced = true;
      wake?.();
    });
    return (ms) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          stop();
          resolve();
        };
        const timer = setTimeout(done, advanced ? 0 : ms);
        wake = done;
      });
  }

  private async partitionOf(seq: number): Promise<number | undefined> {
    const answer = await this.options.nc.request(`$JS.API.DIRECT.GET.${STREAMS.events}`, JSON.stringify({ seq }), {
      timeout: 5_000,
    });
    return parseEventSubject(answer.headers?.last('Nats-Subject') ?? '')?.partition;
  }
}
