import { firstLookAt, nextLookAt, ExternalFailure, wordsOf, type ConnectionName } from '@fairlead/contracts';
import { untilSharedAfter, type Lease, type TaskLeases } from '@fairlead/event-sourcing/jetstream';
import { deadlineAfter, type ServiceMetrics } from '@fairlead/service-kit';
import { Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Settings } from '../config.js';
import { NO_MEMORY, type Memory } from './comparison.planner.js';
import type { ConnectionAnswers } from './answers.effects.js';
import type { ProviderListing } from './listing.effects.js';
import type { WatchQueries } from './watch.queries.js';

/** How many consecutive failures are needed before they are stated. */
const FAILURES_STATED = 2;
/** Scope of the leases on watched connections. */
const LEASES = 'watch';
const LOOKS_AT_ONCE_MAX = 32;
const TICK_MAX_MS = 1_000;
const TICKS_PER_INTERVAL = 10;
/** How many ticks may be skipped while nothing is due, because a check can schedule the next one soon. */
const QUIET_TICKS_MAX = 5;
/**
 * How often a replica tries to acquire the lease of a connection that another one holds, whose replica may have died.
 */
const LEASE_AGAIN_MAX_MS = 15_000;

type Outcome = 'answered' | 'failed' | 'elsewhere' | 'unanswered';

export interface WatchWorld {
  readonly eye: Pick<ProviderListing, 'look'>;
  readonly answers: Pick<ConnectionAnswers, 'missing' | 'given'>;
  readonly queries: Pick<WatchQueries, 'connections' | 'counts'>;
  readonly leases: Pick<TaskLeases, 'acquire'>;
  readonly settings: Pick<Settings, 'watchIntervalMs' | 'watchTimeoutMs'>;
  readonly metrics: Pick<ServiceMetrics, 'addCounter' | 'addGauge'>;
}

/** A connection watched by this replica. */
interface Watched {
  nextAtMs: number;
  /** From the start of a check until its call has really ended, possibly long after it was abandoned. */
  underWay: Promise<void> | undefined;
  /** Whether it was abandoned while its call has not ended. */
  abandoned: boolean;
  lease: Lease | undefined;
  memory: Memory;
  /** Consecutive failures of the provider. */
  failures: number;
}

/**
 * Checks the provider of every connection periodically. One replica checks a connection at a time, and keeps it for its
 * lifetime. Checks are independent, and a call that never ends affects only its own connection.
 */
export class ProviderWatch implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('watch');
  private readonly stopping = new AbortController();
  private readonly watched = new Map<ConnectionName, Watched>();
  private readonly count: (of: { readonly outcome: Outcome }) => void;
  private timer: NodeJS.Timeout | undefined;
  private ticking: Promise<void> | undefined;
  private listedAtMs = Number.NEGATIVE_INFINITY;
  private looking = 0;

  constructor(private readonly world: WatchWorld) {
    const { metrics, queries } = world;
    this.count = metrics.addCounter({
      name: 'fairlead_provider_looks_total',
      help: 'Looks at the providers of connections: answered, failed, unanswered in time, or held by another replica',
      labels: ['outcome'],
    });
    metrics.addGauge({
      name: 'fairlead_machines_off',
      help: 'Machines that their provider does not list any more (gone), or lists as stopped, and machines that no cluster has planned (orphaned)',
      labels: ['state'],
      read: async () => {
        const { lost, stopped, orphans } = await queries.counts();
        return Object.entries({ gone: lost, stopped, orphaned: orphans }).map(([state, value]) => ({
          labels: { state },
          value,
        }));
      },
    });
  }

  onApplicationBootstrap(): void {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    if (this.timer !== undefined) return;
    this.wait();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearTimeout(this.timer);
    this.stopping.abort(new Error('the service stops'));
    await this.ticking;
    await Promise.all(
      [...this.watched.values()].flatMap(({ lease }) => (lease === undefined ? [] : [lease.release()])),
    );
  }

  /** Sleeps until the next check or the next refresh of connections, up to a limit. */
  private wait(): void {
    const { watchIntervalMs } = this.world.settings;
    const everyMs = Math.min(TICK_MAX_MS, watchIntervalMs / TICKS_PER_INTERVAL);
    const nextAtMs = [...this.watched.values()].map((watched) => watched.nextAtMs);
    const dueInMs = Math.min(this.listedAtMs + watchIntervalMs, ...nextAtMs) - performance.now();
    const quietMs = (QUIET_TICKS_MAX - 1) * everyMs;
    this.timer = setTimeout(() => void this.tickAndWait(), untilSharedAfter(Math.min(dueInMs, quietMs), everyMs));
  }

  private async tickAndWait(): Promise<void> {
    this.ticking = this.tick().catch((error: unknown) =>
      this.logger.warn(`connections could not be read: ${wordsOf(error)}`),
    );
    await this.ticking;
    if (!this.stopping.signal.aborted) this.wait();
  }

  /** Starts every check that is due without waiting for it. */
  private async tick(): Promise<void> {
    await this.refresh();
    for (const [name, watched] of this.watched) {
      if (this.looking >= LOOKS_AT_ONCE_MAX) return;
      if (watched.nextAtMs <= performance.now()) this.begin(name, watched);
    }
  }

  private async refresh(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.listedAtMs < this.world.settings.watchIntervalMs) return;
    const names = new Set(await this.world.queries.connections());
    this.listedAtMs = nowMs;
    for (const name of names) if (!this.watched.has(name)) this.watched.set(name, this.fresh(nowMs));
    for (const [name, { lease }] of this.watched) {
      if (names.has(name)) continue;
      this.watched.delete(name);
      await lease?.release();
    }
  }

  private fresh(nowMs: number): Watched {
    const nextAtMs = firstLookAt(nowMs, this.world.settings.watchIntervalMs, Math.random());
    return { nextAtMs, underWay: undefined, abandoned: false, lease: undefined, memory: NO_MEMORY, failures: 0 };
  }

  private begin(name: ConnectionName, watched: Watched): void {
    const { watchIntervalMs } = this.world.settings;
    watched.nextAtMs = nextLookAt(performance.now(), watchIntervalMs, Math.random());
    if (watched.underWay !== undefined) {
      if (watched.abandoned) this.count({ outcome: 'unanswered' });
      return;
    }
    this.looking += 1;
    const ended = (): void => {
      watched.underWay = undefined;
      watched.abandoned = false;
    };
    const look = this.lookAt(name, watched);
    watched.underWay = look.then(ended, ended);
    void this.untilGivenUp(look, watched).finally(() => {
      this.looking -= 1;
    });
  }

  /** Frees the slot of a check after its timeout at the latest, even if its call ignores the abort. */
  private async untilGivenUp(look: Promise<void>, watched: Watched): Promise<void> {
    const late = deadlineAfter(2 * this.world.settings.watchTimeoutMs);
    const givenUp = new Promise<void>((resolve) => {
      late.signal.addEventListener('abort', () => {
        watched.abandoned = true;
        resolve();
      });
    });
    await Promise.race([look, givenUp]);
    late.clear();
  }

  private async lookAt(name: ConnectionName, watched: Watched): Promise<void> {
    try {
      const lease = await this.leaseOf(name, watched);
      if (lease === undefined) {
        watched.nextAtMs = Math.min(watched.nextAtMs, performance.now() + LEASE_AGAIN_MAX_MS);
        this.count({ outcome: 'elsewhere' });
        return;
      }
      const signal = AbortSignal.any([lease.signal, this.stopping.signal]);
      watched.memory = await this.world.eye.look(name, watched.memory, signal);
      watched.failures = 0;
      this.count({ outcome: 'answered' });
      await this.state(name, () => this.world.answers.given(name));
    } catch (error) {
      // Two consecutive responses must agree: one before an outage and one after it do not count.
      watched.memory = NO_MEMORY;
      if (this.stopping.signal.aborted) return;
      this.count({ outcome: 'failed' });
      this.logger.warn(`${name} was not looked at: ${wordsOf(error)}`);
      if (error instanceof ExternalFailure) await this.missed(name, watched, error);
    }
  }

  /** A single response may be lost. */
  private async missed(name: ConnectionName, watched: Watched, failure: ExternalFailure): Promise<void> {
    watched.failures += 1;
    if (watched.failures >= FAILURES_STATED)
      await this.state(name, () => this.world.answers.missing(name, failure.toCause()));
  }

  /** If this fails, the next check states it. */
  private async state(name: ConnectionName, say: () => Promise<void>): Promise<void> {
    try {
      await say();
    } catch (error) {
      this.logger.warn(`what was seen of ${name} was not stated: ${wordsOf(error)}`);
    }
  }

  /** undefined: another replica watches it. */
  private async leaseOf(name: ConnectionName, watched: Watched): Promise<Lease | undefined> {
    const { lease } = watched;
    if (lease !== undefined && !lease.signal.aborted) return lease;
    watched.lease = undefined;
    watched.memory = NO_MEMORY;
    await lease?.release();
    watched.lease = await this.world.leases.acquire(LEASES, name);
    return watched.lease;
  }
}
