import { LRUCache } from 'lru-cache';

/** So many wrong tokens of one address in a window are answered; then only tokens that were right lately. */
const FAILURES_MAX = 20;
const WINDOW_MS = 60_000;
const ADDRESSES_MAX = 10_000;
const KNOWN_TOKENS_MAX = 1_000;

/** Slows down who tries tokens, in bounded memory and without asking the database. */
export class FailureLimit {
  private readonly failures = new LRUCache<string, number>({ max: ADDRESSES_MAX, ttl: WINDOW_MS });
  private readonly good = new LRUCache<string, true>({ max: KNOWN_TOKENS_MAX, ttl: WINDOW_MS });

  /** Seconds until the address may try an unknown token again; 0 when it may now. */
  waitSeconds(address: string, tokenHash: string): number {
    if ((this.failures.get(address) ?? 0) < FAILURES_MAX || this.good.has(tokenHash)) return 0;
    const remainingMs = Math.min(this.failures.getRemainingTTL(address), WINDOW_MS);
    return Math.max(1, Math.ceil(remainingMs / 1000));
  }

  succeeded(tokenHash: string): void {
    this.good.set(tokenHash, true);
  }

  failed(address: string, tokenHash: string): void {
    this.good.delete(tokenHash);
    // The window begins with the first failure and is not prolonged by later ones.
    this.failures.set(address, (this.failures.get(address) ?? 0) + 1, {
      ttl: this.failures.has(address) ? this.failures.getRemainingTTL(address) : WINDOW_MS,
    });
  }
}
