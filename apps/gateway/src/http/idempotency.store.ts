import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';

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

export type Claim =
  /** The request is the first with its key: carry it out, then settle or release. */
  | { readonly kind: 'first' }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer }
  | { readonly kind: 'in-progress' }
  | { readonly kind: 'other-request' };

const KEPT_HOURS = 24;

/** A request that has been at it for longer was lost with its replica; its repetition carries it out. */
const ABANDONED_AFTER_SECONDS = 660;

interface ClaimRow {
  readonly request_sha256: string;
  readonly answer: StoredAnswer | null;
}

/** Idempotency keys, per actor, for a day. */
@Injectable()
export class IdempotencyStore {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  async claim({ actor, key, requestSha256 }: KeyedRequest, now: Date): Promise<Claim> {
    const claimed = await this.database.query<unknown[]>(
      `insert into idempotency as i (actor, key, request_sha256, begun_at) values ($1, $2, $3, $4)
       on conflict (actor, key) do update set request_sha256 = excluded.request_sha256, begun_at = excluded.begun_at, answer = null
        where i.begun_at < $4::timestamptz - make_interval(hours => ${KEPT_HOURS})
           or (i.answer is null and i.request_sha256 = excluded.request_sha256
               and i.begun_at < $4::timestamptz - make_interval(secs => ${ABANDONED_AFTER_SECONDS}))
       returning 1`,
      [actor, key, requestSha256, now],
    );
    if (claimed.length > 0) return { kind: 'first' };
    const [row] = await this.database.query<ClaimRow[]>(
      'select request_sha256, answer from idempotency where actor = $1 and key = $2',
      [actor, key],
    );
    if (row === undefined) return { kind: 'in-progress' };
    if (row.request_sha256 !== requestSha256) return { kind: 'other-request' };
    return row.answer === null ? { kind: 'in-progress' } : { kind: 'answered', answer: row.answer };
  }

  async settle({ actor, key }: KeyedRequest, answer: StoredAnswer): Promise<void> {
    await this.database.query('update idempotency set answer = $3::jsonb where actor = $1 and key = $2', [
      actor,
      key,
      JSON.stringify(answer),
    ]);
  }

  /** Nothing was changed, so the key is as if it had never been used. */
  async release({ actor, key }: KeyedRequest): Promise<void> {
    await this.database.query('delete from idempotency where actor = $1 and key = $2 and answer is null', [actor, key]);
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
}
