import { LRUCache } from 'lru-cache';
import type { StreamPosition } from './store.js';

/** A folded state: what was read up to readSeq, and where the decider's own stream stood then. */
export interface Folded<State> {
  readonly state: State;
  readonly readSeq: number;
  readonly position: StreamPosition;
  /** Causation ids of the latest repeatable requests that the decider's own stream holds events of, the newest last. */
  readonly requests: readonly string[];
}

const ENTRIES_MAX = 20_000;

interface Foldable<State> {
  readonly initial: State;
  readonly evolve: unknown;
}

/**
 * Remembers folded states so that a decision reads only what is new. Losing it costs time, never correctness. Deciders that share
 * `evolve` share their states.
 */
export class FoldCache {
  private readonly caches = new Map<unknown, LRUCache<string, Folded<unknown>>>();

  constructor(private readonly entriesMax = ENTRIES_MAX) {}

  get<State>(decider: Foldable<State>, filter: string, context: string): Folded<State> | undefined {
    return this.caches.get(decider.evolve)?.get(`${filter}|${context}`) as Folded<State> | undefined;
  }

  set<State>(decider: Foldable<State>, filter: string, context: string, folded: Folded<State>): void {
    let cache = this.caches.get(decider.evolve);
    if (cache === undefined) {
      // By size, for with a number of entries it sets room aside for all of them.
      cache = new LRUCache({ maxSize: this.entriesMax, sizeCalculation: () => 1 });
      this.caches.set(decider.evolve, cache);
    }
    cache.set(`${filter}|${context}`, folded as Folded<unknown>);
  }

  forget(decider: Foldable<unknown>, filter: string, context: string): void {
    this.caches.get(decider.evolve)?.delete(`${filter}|${context}`);
  }
}
