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
  /** The position of each partition; shared memory if there are several replicas. */
  readonly reached?: Int32Array;
}

export const noneReached = (): Int32Array =>
  new Int32Array(new SharedArrayBuffer(PARTITION_COUNT * Int32Array.BYTES_PER_ELEMENT));

/** Resolves when each partition has passed its last event. */
export const allReach = async (reached: Int32Array, lastSeqs: ReadonlyMap<number, number>): Promise<void> => {
  const isBehind = ([partition, seq]: readonly [number, number]): boolean => Atomics.load(reached, partition) < seq;
  while ([...lastSeqs].some(isBehind)) await new Promise((resolve) => setTimeout(resolve, 5));
};

const fail = (message: string): never => {
  throw new Error(message);
};

/** The partitions of a service without the service, with timing of their commits. */
export class PartitionProbe {
  readonly reached: Int32Array;
  private readonly waiting = new Set<{
    readonly partition: number;
    readonly seq: number;
    readonly resolve: () => void;
  }>();
  private readonly partitions: PartitionConsumers;

  constructor(options: PartitionProbeOptions) {
    this.reached = options.reached ?? noneReached();
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

  /** Starts to work on the partitions not owned by other replicas. */
  start(): void {
    this.partitions.onAdvance((partition, seq) => {
      Atomics.store(this.reached, partition, seq);
      for (const waiter of this.waiting) {
        if (waiter.partition !== partition || waiter.seq > seq) continue;
        this.waiting.delete(waiter);
        waiter.resolve();
      }
    });
    this.partitions.start();
  }

  /** Resolves when it owns all partitions. */
  async ownsAll(): Promise<void> {
    if (this.partitions.owned().size === PARTITION_COUNT) return;
    await new Promise<void>((resolve) => {
      const stop = this.partitions.onChange((partitions) => {
        if (partitions.size < PARTITION_COUNT) return;
        stop();
        resolve();
      });
    });
  }

  passed(seq: number, { namespace, cluster }: { readonly namespace: string; readonly cluster: string }): Promise<void> {
    const partition = partitionOf(namespace, cluster);
    if ((this.reached[partition] ?? 0) >= seq) return Promise.resolve();
    return new Promise((resolve) => this.waiting.add({ partition, seq, resolve }));
  }

  stop(): Promise<void> {
    return this.partitions.stop();
  }
}
