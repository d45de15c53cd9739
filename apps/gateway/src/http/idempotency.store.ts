import { wordsOf } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { isOutage } from './outage.js';

/** An answer as it was given, to be given again. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface KeyedRequest {
  readonly actor: string;
  readonly key: string;
  readonly requestSha256: string;
}

/** The right to carry a keyed request out. */
export interface Lease {
  readonly holder: string;
  /** The same for every repetition of the request. */
  readonly commandId: string;
}

export type Claim =
  /** The request is free: carry it out, then settle or release. Whatever worked on it before may have been killed on the way. */
  | { readonly kind: 'held'; readonly lease: Lease }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer }
  | { readonly kind: 'in-progress' }
  | { readonly kind: 'other-request' };

const KEPT_HOURS = 24;

/** A replica that was killed holds its keys for at most so long; by the database's clock, which all replicas share. */
const LEASE_SECONDS = 10;
const RENEW_EVERY_MS = 2000;

/** Of a row `i` that a request meets at $4: the key is free again. */
const OUTDATED = `i.begun_at < $4::timestamptz - make_interval(hours => ${KEPT_HOURS})`;

interface ClaimRow {
  readonly request_sha256: string;
  readonly answer: StoredAnswer | null;
}

/** Idempotency keys, per actor, for a day. */
@Injectable()
export class IdempotencyStore implements OnModuleDestroy {
  private readonly log = new Logger('http');
  private readonly held = new Set<string>();
  private renewal: NodeJS.Timeout | undefined;

  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  onModuleDestroy(): void {
    clearInterval(this.renewal);
  }

  async claim({ actor, key, requestSha256 }: KeyedRequest, now: Date): Promise<Claim> {
    const holder = randomUUID();
    const [claimed] = await this.database.query<{ command_id: string }[]>(
      `insert into idempotency as i (actor, key, request_sha256, begun_at, command_id, holder, held_until)
       values ($1, $2, $3, $4, $5, $6, clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}))
       on conflict (actor, key) do update
          set request_sha256 = excluded.request_sha256, answer = null, holder = excluded.holder, held_until = excluded.held_until,
              begun_at = case when ${OUTDATED} then excluded.begun_at else i.begun_at end,
              command_id = case when ${OUTDATED} then excluded.command_id else i.command_id end
        where ${OUTDATED}
           or (i.answer is null and i.request_sha256 = excluded.request_sha256 and i.held_until < clock_timestamp())
       returning command_id`,
      [actor, key, requestSha256, now, randomUUID(), holder],
    );
    if (claimed !== undefined) {
      this.hold(holder);
      return { kind: 'held', lease: { holder, commandId: claimed.command_id } };
    }
    const [row] = await this.database.query<ClaimRow[]>(
      'select request_sha256, answer from idempotency where actor = $1 and key = $2',
      [actor, key],
    );
    if (row === undefined) return { kind: 'in-progress' };
    if (row.request_sha256 !== requestSha256) return { kind: 'other-request' };
    return row.answer === null ? { kind: 'in-progress' } : { kind: 'answered', answer: row.answer };
  }

  async settle({ holder }: Lease, answer: StoredAnswer): Promise<void> {
    this.drop(holder);
    await this.database.query('update idempotency set answer = $2::jsonb where holder = $1 and answer is null', [
      holder,
      JSON.stringify(answer),
    ]);
  }

  /** Nothing was changed, so the key is as if it had never been used. */
  async release({ holder }: Lease): Promise<void> {
    this.drop(holder);
    await this.database.query('delete from idempotency where holder = $1 and answer is null', [holder]);
  }

  /** Forgets what is older than a day, a bounded number at a time. */
  async forget(now: Date, rowsMax: number): Promise<void> {
    await this.database.query(
      `delete from idempotency where (actor, key) in
         (select actor, key from idempotency
           where begun_at < $1::timestamptz - make_interval(hours => ${KEPT_HOURS}) limit $2)`,
      [now, rowsMax],
    );
  }

  private hold(holder: string): void {
    this.held.add(holder);
    this.renewal ??= setInterval(() => void this.renew(), RENEW_EVERY_MS).unref();
  }

  private drop(holder: string): void {
    this.held.delete(holder);
    if (this.held.size > 0) return;
    clearInterval(this.renewal);
    this.renewal = undefined;
  }

  /** A lease that could not be renewed ends: another replica may carry the request out again, which has its effect once. */
  private async renew(): Promise<void> {
    try {
      await this.database.query(
        `update idempotency set held_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
          where holder = any($1::uuid[]) and answer is null`,
        [[...this.held]],
      );
    } catch (error) {
      if (!isOutage(error)) throw error;
      this.log.warn(`${this.held.size} idempotency keys are not held any longer: ${wordsOf(error)}`);
    }
  }
}
