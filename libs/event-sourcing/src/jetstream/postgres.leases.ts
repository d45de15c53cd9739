import { ExternalFailure, wordsOf } from '@fairlead/contracts';
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Lease, TaskLeases } from '../task.leases.js';
import { Batcher } from './batcher.js';
import type { PartitionLog } from './partition.consumer.js';

/** A lease that is not renewed for this long has expired: its process has died. */
const LEASE_SECONDS = 15;
const RENEW_EVERY_MS = 5_000;
/** A holder abandons a lease this long before others may acquire it: its work needs time to notice. */
const MARGIN_MS = 2_000;
const BATCH_MAX = 200;
/**
 * A released lease is freed in the database after this delay, together with others: until then the cluster's next task,
 * which usually needs the same one, takes it over.
 */
const RELEASE_AFTER_MS = 1_000;

interface LeaseRequest {
  readonly scope: string;
  readonly name: string;
  readonly holder: string;
}

interface Held {
  readonly place: string;
  readonly lost: AbortController;
  /** By this process's own clock: no other replica can hold it before. */
  validUntilMs: number;
}

const expired = (message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'renew a lease', target: 'database', message });

const placeOf = (scope: string, name: string): string => JSON.stringify([scope, name]);

/** Leases as rows of the service's own database, whose clock is authoritative. */
export class PostgresLeases implements TaskLeases {
  private readonly leases = new Map<string, Held>();
  /** Released by their task but not freed yet, by place. */
  private readonly free = new Map<string, { readonly holder: string; readonly validUntilMs: number }>();
  private freeing: NodeJS.Timeout | undefined;
  /** Being freed, by place. */
  private readonly leaving = new Map<string, Promise<void>>();
  private readonly acquiring = new Batcher<LeaseRequest, boolean>(BATCH_MAX, (asked) => this.acquireAll(asked));
  private readonly releasing = new Batcher<string, void>(BATCH_MAX, (holders) => this.releaseAll(holders));
  private renewing: NodeJS.Timeout | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly log: Pick<PartitionLog, 'warn'>,
  ) {}

  async acquire(scope: string, name: string): Promise<Lease | undefined> {
    const place = placeOf(scope, name);
    const free = this.free.get(place);
    if (free !== undefined && free.validUntilMs - performance.now() > RENEW_EVERY_MS + MARGIN_MS) {
      this.free.delete(place);
      return this.leaseOf(place, free);
    }
    await this.leaving.get(place);
    const holder = randomUUID();
    const askedAtMs = performance.now();
    if (!(await this.acquiring.add({ scope, name, holder }))) return undefined;
    return this.leaseOf(place, { holder, validUntilMs: askedAtMs + LEASE_SECONDS * 1_000 });
  }

  private leaseOf(
    place: string,
    { holder, validUntilMs }: { readonly holder: string; readonly validUntilMs: number },
  ): Lease {
    const lost = new AbortController();
    this.leases.set(holder, { place, lost, validUntilMs });
    this.renewing ??= setInterval(() => void this.renew(), RENEW_EVERY_MS).unref();
    return { signal: lost.signal, release: () => this.release(holder) };
  }

  async held(scope: string): Promise<readonly string[]> {
    const found = await this.pool.query<{ name: string }>(
      'select name from task_leases where scope = $1 and until >= now() order by name',
      [scope],
    );
    return found.rows.map(({ name }) => name).filter((name) => !this.free.has(placeOf(scope, name)));
  }

  /** When the service stops: releases everything. */
  async stop(): Promise<void> {
    this.releaseFree();
    await Promise.all(this.leaving.values());
  }

  private async release(holder: string): Promise<void> {
    const held = this.leases.get(holder);
    this.leases.delete(holder);
    if (this.leases.size === 0) this.stopRenewing();
    // An expired one may meanwhile belong to another task.
    const isOurs = (place: string): boolean =>
      !this.free.has(place) && ![...this.leases.values()].some((other) => other.place === place);
    if (held === undefined || held.lost.signal.aborted || !isOurs(held.place)) return this.releasing.add(holder);
    this.free.set(held.place, { holder, validUntilMs: held.validUntilMs });
    this.freeing ??= setTimeout(() => this.releaseFree(), RELEASE_AFTER_MS).unref();
  }

  private releaseFree(): void {
    clearTimeout(this.freeing);
    this.freeing = undefined;
    for (const [place, { holder }] of this.free) {
      const released = this.releasing
        .add(holder)
        // It will expire.
        .catch((error: unknown) => this.log.warn(`a lease was not released: ${wordsOf(error)}`))
        .finally(() => this.leaving.delete(place));
      this.leaving.set(place, released);
    }
    this.free.clear();
  }

  /**
   * Of two requests for the same lease in one batch the first one succeeds, as if they had arrived one after the other.
   */
  private async acquireAll(asked: readonly LeaseRequest[]): Promise<readonly boolean[]> {
    const first = new Map(asked.toReversed().map((one) => [placeOf(one.scope, one.name), one]));
    // Always in the same order, so that two replicas' batches cannot deadlock on each other's rows.
    const desired = [...first].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, one]) => one);
    const got = await this.pool.query<{ holder: string }>({
      name: 'acquire-leases',
      text: `insert into task_leases (scope, name, holder, until)
       select scope, name, holder, now() + make_interval(secs => $4)
         from unnest($1::text[], $2::text[], $3::text[]) as asked (scope, name, holder)
       on conflict (scope, name) do update set holder = excluded.holder, until = excluded.until
        where task_leases.until < now()
       returning holder`,
      values: [
        desired.map(({ scope }) => scope),
        desired.map(({ name }) => name),
        desired.map(({ holder }) => holder),
        LEASE_SECONDS,
      ],
    });
    const holders = new Set(got.rows.map(({ holder }) => holder));
    return asked.map(({ holder }) => holders.has(holder));
  }

  private async releaseAll(holders: readonly string[]): Promise<readonly void[]> {
    await this.pool.query({
      name: 'release-leases',
      text: 'delete from task_leases where holder = any($1)',
      values: [holders],
    });
    return holders.map(() => undefined);
  }

  /**
   * A missed renewal is compensated by the next one; without one in time the work is aborted before another replica may
   * start it.
   */
  private async renew(): Promise<void> {
    this.loseStale();
    const asked = [...this.leases.keys()];
    const askedAtMs = performance.now();
    try {
      const renewed = await this.pool.query<{ holder: string }>(
        `update task_leases set until = now() + make_interval(secs => $1)
          where holder = any($2) and until >= now() returning holder`,
        [LEASE_SECONDS, asked],
      );
      const holders = new Set(renewed.rows.map(({ holder }) => holder));
      for (const holder of asked) {
        const lease = this.leases.get(holder);
        if (holders.has(holder) && lease !== undefined) lease.validUntilMs = askedAtMs + LEASE_SECONDS * 1_000;
        else lease?.lost.abort(expired('the lease is not ours any longer'));
      }
    } catch (error) {
      this.log.warn(`leases were not renewed: ${wordsOf(error)}`);
    }
  }

  /** Abandons leases that will have expired before the next check. */
  private loseStale(): void {
    const nextLookMs = performance.now() + RENEW_EVERY_MS;
    for (const { lost, validUntilMs } of this.leases.values())
      if (validUntilMs - MARGIN_MS < nextLookMs) lost.abort(expired('the database did not answer in time'));
  }

  private stopRenewing(): void {
    clearInterval(this.renewing);
    this.renewing = undefined;
  }
}
