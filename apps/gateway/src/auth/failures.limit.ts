import { LRUCache } from 'lru-cache';
import pLimit, { type LimitFunction } from 'p-limit';

/** So many wrong tokens of one address in a window are answered as unknown; later ones are asked to slow down. */
const FAILURES_MAX = 20;
const WINDOW_MS = 60_000;
const ADDRESSES_MAX = 10_000;
const KNOWN_TOKENS_MAX = 1_000;

interface Failures {
  readonly count: number;
  /** One lookup at a time. */
  readonly turns: LimitFunction;
}

/**
 * Slows down who tries tokens, in bounded memory. Many callers can share an address, so a valid token is never refused because of
 * the others: an address with many failures has its tokens looked up one at a time, and those that were good lately at once.
 */
export class FailureLimit {
  private readonly failures = new LRUCache<string, Failures>({ max: ADDRESSES_MAX, ttl: WINDOW_MS });
  private readonly good = new LRUCache<string, true>({ max: KNOWN_TOKENS_MAX, ttl: WINDOW_MS });

  /** Looks a token up: at once, or when the lookups of the same address before it are over. */
  inTurn<T>(address: string, tokenHash: string, lookUp: () => Promise<T>): Promise<T> {
    const failures = this.failures.get(address);
    if (failures === undefined || failures.count < FAILURES_MAX || this.good.has(tokenHash)) return lookUp();
    return failures.turns(lookUp);
  }

  succeeded(tokenHash: string): void {
    this.good.set(tokenHash, true);
  }

  /** Seconds until a wrong token of this address is one of few again; 0 while it is. */
  failed(address: string, tokenHash: string): number {
    this.good.delete(tokenHash);
    const before = this.failures.get(address);
    const { count, turns } = before ?? { count: 0, turns: pLimit(1) };
    // The window begins with the first failure and is not prolonged by later ones.
    const ttl = before === undefined ? WINDOW_MS : Math.min(this.failures.getRemainingTTL(address), WINDOW_MS);
    this.failures.set(address, { count: count + 1, turns }, { ttl });
    return count < FAILURES_MAX ? 0 : Math.max(1, Math.ceil(ttl / 1000));
  }
}
