import { refuse, type RefusalCode } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Identity } from '../access/identity.js';
import { SETTINGS, type Settings } from '../config.js';
import { RefusalError } from '../http/refusal.error.js';
import {
  costOf,
  fullAfterMs,
  isChange,
  spend,
  waitOf,
  type RequestedRecords,
  type Bucket,
  type Rate,
} from './rates.rules.js';

/** Bounds what is remembered. Only tokens that were found valid, and namespaces in which they have a role, get a bucket. */
const BUCKETS_MAX = 10_000;
const MS_PER_SECOND = 1_000;

type What = 'changes' | 'reads';

/** The buckets of one kind, in bounded memory: one that is full again is forgotten. */
class Buckets {
  private readonly buckets: LRUCache<string, Bucket>;

  constructor(
    private readonly rate: Rate,
    readonly code: RefusalCode,
    private readonly what: What,
  ) {
    this.buckets = new LRUCache({ max: BUCKETS_MAX, ttl: fullAfterMs(rate) });
  }

  waitMs(key: string, cost: number, nowMs: number): number {
    return waitOf(this.buckets.get(key), this.rate, cost, nowMs);
  }

  spend(key: string, cost: number, nowMs: number): void {
    this.buckets.set(key, spend(this.buckets.get(key), this.rate, cost, nowMs));
  }

  refused(key: string, waitMs: number): RefusalError {
    const seconds = Math.max(1, Math.ceil(waitMs / MS_PER_SECOND));
    const { perSecond, burst } = this.rate;
    return new RefusalError(refuse(this.code, { of: key, what: this.what, perSecond, burst, seconds })).retryAfter(
      seconds,
    );
  }
}

/**
 * How many requests a token may send, and all tokens of a namespace together, at this replica. Whoever has a role in all namespaces is
 * limited by the token alone, so that no namespace can keep its administrators out.
 */
@Injectable()
export class RequestLimits {
  private readonly ofTokens: Readonly<Record<What, Buckets>>;
  private readonly ofNamespaces: Readonly<Record<What, Buckets>>;

  constructor(
    @Inject(SETTINGS) { limits }: Pick<Settings, 'limits'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.ofTokens = {
      changes: new Buckets(limits.tokenChanges, 'token.too-many-requests', 'changes'),
      reads: new Buckets(limits.tokenReads, 'token.too-many-requests', 'reads'),
    };
    this.ofNamespaces = {
      changes: new Buckets(limits.namespaceChanges, 'namespace.too-many-requests', 'changes'),
      reads: new Buckets(limits.namespaceReads, 'namespace.too-many-requests', 'reads'),
    };
  }

  /** Counts the request, or refuses it and counts nothing. `namespace` is that of its path. */
  take(identity: Identity, namespace: string | undefined, asked: RequestedRecords): void {
    const nowMs = this.clock.now().getTime();
    const what = isChange(asked) ? 'changes' : 'reads';
    const cost = costOf(asked);
    const counted = [{ buckets: this.ofTokens[what], key: identity.tokenId }];
    const isOfNamespace = identity.roles.some((grant) => grant.namespace === namespace);
    if (namespace !== undefined && isOfNamespace) counted.push({ buckets: this.ofNamespaces[what], key: namespace });
    for (const { buckets, key } of counted) {
      const waitMs = buckets.waitMs(key, cost, nowMs);
      if (waitMs > 0) throw buckets.refused(key, waitMs);
    }
    for (const { buckets, key } of counted) buckets.spend(key, cost, nowMs);
  }
}
