import { parseEventSubject, STREAMS } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Pool } from 'pg';
import { WakeSignal } from './wake.signal.js';
import type { PartitionConsumers } from './partition.consumers.js';

/** Waits until the service's own rows reflect an event: read your writes. */
export interface Positions {
  /**
   * True if every consumer of the service has passed `seq`; false on timeout; undefined if the log has no such event
   * (yet).
   */
  waitFor(seq: number, timeoutMs: number): Promise<boolean | undefined>;
  /**
   * Waits until every consumer of the service has passed `seq` in its partition, or the timeout; returns how far all
   * have come.
   */
  reach(partition: number, seq: number, timeoutMs: number): Promise<number>;
}

const POLL_MS = 25;

export class DatabasePositions implements Positions {
  constructor(
    private readonly options: {
      readonly nc: NatsConnection;
      readonly pool: Pool;
      readonly partitions: Pick<PartitionConsumers, 'onAdvance'>;
      readonly consumers: readonly string[];
    },
  ) {}

  async waitFor(seq: number, timeoutMs: number): Promise<boolean | undefined> {
    const partition = await this.partitionOf(seq);
    if (partition === undefined) return undefined;
    return (await this.reach(partition, seq, timeoutMs)) >= seq;
  }

  async reach(partition: number, seq: number, timeoutMs: number): Promise<number> {
    const deadline = Date.now() + timeoutMs;
    const wakeSignal = new WakeSignal();
    let announced = 0;
    const stop = this.options.partitions.onAdvance((of, to) => {
      if (of !== partition) return;
      announced = Math.max(announced, to);
      wakeSignal.ring();
    });
    try {
      for (;;) {
        wakeSignal.reset();
        const reached =
          announced >= seq && announced > 0 ? announced : Math.max(await this.written(partition), announced);
        const left = deadline - Date.now();
        if (reached >= seq || left <= 0) return reached;
        // This replica's own consumer notifies immediately; another replica's progress is visible only in the database.
        if (!wakeSignal.isSet) await wakeSignal.pause(Math.min(POLL_MS, left));
      }
    } finally {
      stop();
    }
  }

  /** The positions in the database; after events without any effect they are written with a delay. */
  private async written(partition: number): Promise<number> {
    const { pool, consumers } = this.options;
    const found = await pool.query<{ n: string; seq: string | null }>(
      'select count(*) as n, min(seq) as seq from positions where partition = $1 and consumer = any($2)',
      [partition, consumers],
    );
    const [row] = found.rows;
    return Number(row?.n) === consumers.length ? Number(row?.seq) : 0;
  }

  private async partitionOf(seq: number): Promise<number | undefined> {
    const answer = await this.options.nc.request(`$JS.API.DIRECT.GET.${STREAMS.events}`, JSON.stringify({ seq }), {
      timeout: 5_000,
    });
    return parseEventSubject(answer.headers?.last('Nats-Subject') ?? '')?.partition;
  }
}
