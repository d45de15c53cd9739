import { LRUCache } from 'lru-cache';
import type { StreamPosition } from './store.js';

/** A folded state: read up to readSeq, with the position of the decider's own stream at that time. */
export interface Folded<State> {
  readonly state: State;
  readonly readSeq: number;
  readonly position: StreamPosition;
  /** Causation ids of the latest repeatable requests with events in the decider's own stream, newest last. */
  readonly requests: readonly string[];
}

const ENTRIES_MAX = 20_000;

interface Foldable<State> {
  readonly initial: State;
  readonly evolve: unknown;
}

/**
 * Caches folded states so that a decision reads only new events. Losing the cache costs time, never correctness.
 * Deciders that share `evolve` share their states.
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
      // Limited by size: with a limit on entries, the cache allocates all of them in advance.
      cache = new LRUCache({ maxSize: this.entriesMax, sizeCalculation: () => 1 });
      this.caches.set(decider.evolve, cache);
    }
    cache.set(`${filter}|${context}`, folded as Folded<unknown>);
  }

  forget(decider: Foldable<unknown>, filter: string, context: string): void {
    this.caches.get(decider.evolve)?.delete(`${filter}|${context}`);
  }
}
