import { EVERY_EVENT, partitionOf, wordsOf } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Pool } from 'pg';
import type { Poison } from '../projection.js';
import type { Consumers } from './consumers.js';
import type { EventHandlers } from './event.handlers.js';
import { PartitionConsumer, type PartitionLog, type PartitionConsumerOptions } from './partition.consumer.js';
import { PartitionStore } from './partition.store.js';
import { Leases } from './leases.js';
import type { Mark } from './partition.fold.js';
import { LogFeed } from './log.feed.js';
import { LogLook } from './log.look.js';
import { readBatch } from './direct.reader.js';
import { CatchUp } from './catch.up.js';
import { readPass } from './log.pass.js';
import { sharedInterval } from './shared.interval.js';
import type { Stall } from './partition.progress.js';
import type { RecentEntries } from './recent.entries.js';
import type { Meter } from './meter.js';

export interface PartitionConsumersOptions {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly consumers: Consumers;
  readonly recent: RecentEntries;
  readonly positionsAfterMs: PartitionConsumerOptions['positionsAfterMs'];
  readonly commitsWaitMs?: number | undefined;
  readonly handlers: EventHandlers | undefined;
  readonly announceQuarantined: (consumer: string, poison: Poison) => Promise<void>;
  readonly onReconciled: PartitionConsumerOptions['onReconciled'];
  readonly onTimersSet: PartitionConsumerOptions['onTimersSet'];
  readonly onEvents: PartitionConsumerOptions['onEvents'];
  readonly onLoaded: PartitionConsumerOptions['onLoaded'];
  /** Called when the partition is no longer read. */
  readonly onReleased: (partition: number) => void;
  readonly log: PartitionLog;
  readonly meter: Pick<Meter, 'eventsTaken' | 'eventsRejected'>;
}

/** The partitions that this replica owns. */
export interface Partitions {
  owned(): ReadonlySet<number>;
  /** Called after every change; returns a function that stops it. */
  onChange(listener: (owned: ReadonlySet<number>) => void): () => void;
  /** The progress of each partition: one whose events wait for long is stalled. */
  stalls(): readonly Stall[];
}

type AdvanceListener = (partition: number, seq: number) => void;

/** A push can be lost without a later one that reveals the gap: how soon such an event is found. */
const LOOK_MS = 5_000;

/** Runs a consumer for every partition whose lease this replica holds. */
export class PartitionConsumers implements Partitions {
  private readonly partitions = new Map<number, PartitionConsumer>();
  private readonly leases: Leases;
  private readonly changeListeners = new Set<(owned: ReadonlySet<number>) => void>();
  private readonly advanceListeners = new Set<AdvanceListener>();
  private readonly unpushedListeners = new Set<() => void>();
  private readonly store: PartitionStore;
  private readonly feed: LogFeed;
  private readonly catchUp: CatchUp;
  private readonly logLook: LogLook;
  private stopLooking = (): void => undefined;

  constructor(private readonly options: PartitionConsumersOptions) {
    const { pool, commitsWaitMs } = options;
    this.store = new PartitionStore(pool, { commitsWaitMs });
    this.feed = new LogFeed({
      nc: options.nc,
      onMessage: (partition, message, from) => {
        options.recent.push(message, from);
        this.partitions.get(partition)?.push(message, from);
      },
      onGap: () => this.lookEverywhere(),
    });
    this.catchUp = new CatchUp({
      pass: (after) => readPass(options.nc, EVERY_EVENT, after),
      owned: () => this.partitions.keys(),
      warn: (error) => options.log.warn(`${wordsOf(error)}; each partition reads on by itself`),
    });
    this.logLook = new LogLook({
      lastPushed: () => this.feed.last,
      partitions: () => [...this.partitions.values()],
      nextAfter: async (seq) => (await readBatch(options.nc, EVERY_EVENT, seq, 1))[0]?.seq,
      onKnown: (seq) => {
        options.recent.knownUpTo(seq);
        this.unpushedListeners.forEach((listener) => listener());
      },
      warn: (message) => options.log.warn(message),
    });
    this.leases = new Leases({
      databaseUrl: options.databaseUrl,
      log: options.log,
      onGained: (partition) => this.gained(partition),
      onReleased: (partition) => this.released(partition),
    });
  }

  start(): void {
    this.feed.start();
    void this.lookOnReconnect();
    this.stopLooking = sharedInterval(LOOK_MS, () => void this.logLook.look());
    this.leases.start();
  }

  async stop(): Promise<void> {
    this.feed.stop();
    this.stopLooking();
    await this.leases.stop();
  }

  owned(): ReadonlySet<number> {
    return new Set(this.partitions.keys());
  }

  onChange(listener: (owned: ReadonlySet<number>) => void): () => void {
    this.changeListeners.add(listener);
    return () => this.changeListeners.delete(listener);
  }

  stalls(): readonly Stall[] {
    return [...this.partitions.values()].map((consumer) => consumer.stall());
  }

  /** Reports every commit of this replica's partitions. */
  onAdvance(listener: AdvanceListener): () => void {
    this.advanceListeners.add(listener);
    return () => this.advanceListeners.delete(listener);
  }

  /** Reports that the log contains, or may contain, messages that were not pushed. */
  onUnpushed(listener: () => void): () => void {
    this.unpushedListeners.add(listener);
    return () => this.unpushedListeners.delete(listener);
  }

  /** Marks the state of a cluster; false if this replica does not own it. */
  mark(mark: Mark): boolean {
    const [namespace = '', cluster = ''] = mark.clusterKey.split('/');
    const consumer = this.partitions.get(partitionOf(namespace, cluster));
    consumer?.mark(mark);
    return consumer !== undefined;
  }

  private gained(partition: number): void {
    const consumer = new PartitionConsumer(partition, {
      ...this.options,
      store: this.store,
      catchUp: this.catchUp,
      pushedFrom: this.feed.next,
      onAdvance: (of, seq) => this.advanceListeners.forEach((listener) => listener(of, seq)),
    });
    this.partitions.set(partition, consumer);
    consumer.start((lost) => void this.leases.lost(lost));
    this.changed();
  }

  private async released(partition: number): Promise<void> {
    const consumer = this.partitions.get(partition);
    this.partitions.delete(partition);
    this.changed();
    await consumer?.stop();
    this.options.onReleased(partition);
  }

  private changed(): void {
    const owned = this.owned();
    this.changeListeners.forEach((listener) => listener(owned));
  }

  private async lookOnReconnect(): Promise<void> {
    for await (const status of this.options.nc.status()) {
      if (status.type === 'disconnect') this.options.recent.forget();
      if (status.type === 'reconnect') this.lookEverywhere();
    }
  }

  private lookEverywhere(): void {
    this.partitions.forEach((consumer) => consumer.look());
    this.logLook.lookOnceMore();
    this.unpushedListeners.forEach((listener) => listener());
  }
}
