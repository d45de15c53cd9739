import { partitionOf, PARTITION_COUNT } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { PartitionConsumers, RecentEntries } from '@fairlead/event-sourcing/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type pg from 'pg';

export interface PartitionProbeOptions {
  readonly nc: NatsConnection;
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  readonly projection: Projection<never> | Projection<unknown>;
}

const fail = (message: string): never => {
  throw new Error(message);
};

/** The partitions of a service without a service, and a stopwatch on what they commit. */
export class PartitionProbe {
  private readonly reached = Array.from({ length: PARTITION_COUNT }, () => 0);
  private readonly waiting = new Set<{
    readonly partition: number;
    readonly seq: number;
    readonly resolve: () => void;
  }>();
  private readonly partitions: PartitionConsumers;

  constructor(options: PartitionProbeOptions) {
    this.partitions = new PartitionConsumers({
      service: 'upgrade-svc',
      nc: options.nc,
      pool: options.pool,
      databaseUrl: options.databaseUrl,
      consumers: { projections: [options.projection as Projection<unknown>], processes: [] },
      handlers: undefined,
      recent: new RecentEntries(),
      positionsAfterMs: 250,
      onReconciled: () => undefined,
      onEvents: () => undefined,
      onLoaded: async () => undefined,
      onReleased: () => undefined,
      onTimersSet: () => undefined,
      announceQuarantined: (consumer) => fail(`${consumer} was quarantined`),
      log: { log: () => undefined, warn: () => undefined, error: fail },
      meter: { eventsTaken: () => undefined, eventsRejected: (reason) => fail(`a message was rejected: ${reason}`) },
    });
  }

  async start(): Promise<void> {
    this.partitions.onAdvance((partition, seq) => {
      this.reached[partition] = seq;
      for (const waiter of this.waiting) {
        if (waiter.partition !== partition || waiter.seq > seq) continue;
        this.waiting.delete(waiter);
        waiter.resolve();
      }
    });
    const owned = new Promise<void>((resolve) => {
      const stop = this.partitions.onChange((partitions) => {
        if (partitions.size < PARTITION_COUNT) return;
        stop();
        resolve();
      });
    });
    this.partitions.start();
    await owned;
  }

  passed(seq: number, { namespace, cluster }: { readonly namespace: string; readonly cluster: string }): Promise<void> {
    const partition = partitionOf(namespace, cluster);
    if ((this.reached[partition] ?? 0) >= seq) return Promise.resolve();
    return new Promise((resolve) => this.waiting.add({ partition, seq, resolve }));
  }

  /** Resolves when each partition has passed its last event. */
  async caughtUp(lastSeqs: ReadonlyMap<number, number>): Promise<void> {
    const isBehind = ([partition, seq]: readonly [number, number]): boolean => (this.reached[partition] ?? 0) < seq;
    while ([...lastSeqs].some(isBehind)) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  stop(): Promise<void> {
    return this.partitions.stop();
  }
}
