import type { SecretRef } from '@fairlead/contracts';
import type { SecretStore } from '@fairlead/service-kit';
import { LRUCache } from 'lru-cache';

const ENTRIES_MAX = 2_000;
/** A replaced or destroyed secret leaves the cache within this time. */
const KEPT_MS = 60_000;

/** Caches opened secrets briefly: consecutive steps of one cluster need the same ones. */
export class RememberedSecrets {
  private readonly values = new LRUCache<string, string>({ max: ENTRIES_MAX, ttl: KEPT_MS, ttlAutopurge: true });

  constructor(private readonly store: SecretStore) {}

  async get(ref: SecretRef): Promise<string | undefined> {
    const cached = this.values.get(ref);
    if (cached !== undefined) return cached;
    const value = await this.store.get(ref);
    if (value !== undefined) this.values.set(ref, value);
    return value;
  }

  async put(ref: SecretRef, value: string, owner: string): Promise<void> {
    await this.store.put(ref, value, owner);
    this.values.set(ref, value);
  }

  /** Not cached: this service does not read it itself. */
  async seal(ref: SecretRef, value: string, owner: string): Promise<void> {
    await this.store.put(ref, value, owner);
  }

  async delete(ref: SecretRef): Promise<void> {
    this.values.delete(ref);
    await this.store.delete(ref);
  }

  async destroyKey(owner: string, refs: readonly SecretRef[]): Promise<void> {
    for (const ref of refs) this.values.delete(ref);
    await this.store.destroyKey(owner);
  }
}
