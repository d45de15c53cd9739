import { wordsOf } from '@fairlead/contracts';
import { NATS, readStores, untilShared, type StoreState } from '@fairlead/event-sourcing/jetstream';
import { METRICS, type ServiceMetrics } from '@fairlead/service-kit';
import { Inject, Injectable, Logger, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { setTimeout as sleep } from 'node:timers/promises';
import { changedLimits, replicasOf, storeWarnings } from './stores.metrics.js';

const POLL_INTERVAL_MS = 15_000;

/** Looks in the background how the stores in NATS are replicated, and which limits of them an operator has changed. */
@Injectable()
export class StoresWatch implements OnModuleInit, BeforeApplicationShutdown {
  private readonly log = new Logger('stores');
  private readonly stopping = new AbortController();
  private states: readonly StoreState[] = [];
  private seen: ReadonlySet<string> = new Set();
  private reported: ReadonlySet<string> = new Set();
  private following: Promise<void> | undefined;

  constructor(
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(METRICS) metrics: ServiceMetrics,
  ) {
    metrics.addGauge({
      name: 'fairlead_store_replicas',
      help: 'Replicas of each stream, bucket and object store in NATS: asked for, configured, and in_sync',
      labels: ['store', 'state'],
      read: () =>
        replicasOf(this.states).flatMap(({ store, asked, configured, inSync }) => [
          { labels: { store, state: 'asked' }, value: asked },
          { labels: { store, state: 'configured' }, value: configured },
          { labels: { store, state: 'in_sync' }, value: inSync },
        ]),
    });
    metrics.addGauge({
      name: 'fairlead_store_limits_changed',
      help: 'Limits of stores in NATS that an operator has changed, and that Fairlead keeps',
      labels: ['store', 'setting'],
      read: () => changedLimits(this.states).map((labels) => ({ labels, value: 1 })),
    });
  }

  onModuleInit(): void {
    this.following ??= this.follow();
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  private async follow(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.look();
      await sleep(untilShared(POLL_INTERVAL_MS), undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private async look(): Promise<void> {
    try {
      this.states = await readStores(this.nats);
      this.tell(storeWarnings(this.states));
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      this.states = []; // What is not known has no value.
      this.tell([`the streams cannot be listed: ${wordsOf(error)}`]);
    }
  }

  /** What two looks have shown, once. One look may find a replica a message behind. */
  private tell(warnings: readonly string[]): void {
    const confirmed = warnings.filter((warning) => this.seen.has(warning));
    for (const warning of confirmed) if (!this.reported.has(warning)) this.log.warn(warning);
    if (warnings.length === 0 && this.reported.size > 0) this.log.log('all stores are as they were asked for');
    this.seen = new Set(warnings);
    this.reported = new Set(confirmed);
  }
}
