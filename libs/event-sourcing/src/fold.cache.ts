import { LRUCache } from 'lru-cache';
import type { StreamPosition } from './store.js';

/** A folded state: what was read up to readSeq, and where the decider's own stream stood then. */
export interface Folded<State> {
  readonly state: State;
  readonly readSeq: number;
  readonly position: StreamPosition;
}

const ENTRIES_MAX = 20_000;

/** Remembers folded states so that a decision reads only what is new. Losing it costs time, never correctness. */
export class FoldCache {
  private readonly caches = new Map<object, LRUCache<string, Folded<unknown>>>();

  constructor(private readonly entriesMax = ENTRIES_MAX) {}

  get<State>(decider: { readonly initial: State }, filter: string, context: string): Folded<State> | undefined {
    return this.caches.get(decider)?.get(`${filter}|${context}`) as Folded<State> | undefined;
  }

  set<State>(decider: { readonly initial: State }, filter: string, context: string, folded: Folded<State>): void {
    let cache = this.caches.get(decider);
    if (cache === undefined) {
      cache = new LRUCache({ max: this.entriesMax });
      this.caches.set(decider, cache);
    }
    cache.set(`${filter}|${context}`, folded as Folded<unknown>);
  }

  forget(decider: object, filter: string, context: string): void {
    this.caches.get(decider)?.delete(`${filter}|${context}`);
  }
}
