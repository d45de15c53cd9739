import type { StoredEvent } from '@fairlead/contracts';
import type { EventStore } from './store.js';

export interface Fold<State> {
  /**
   * Subjects whose events form the state. They are read one after the other: `evolve` sees events in order only within
   * each.
   */
  readonly filters: readonly string[];
  readonly initial: State;
  evolve(state: State, event: StoredEvent): State;
}

/**
 * A state for many requests, folded from the log. Each caller sees everything that was in the log when it asked;
 * callers during a read share the next one, so that a thousand concurrent requests cost a few reads.
 */
export class LatestFold<State> {
  private state: State;
  private readonly readSeqs = new Map<string, number>();
  private running: Promise<State> | undefined;
  private next: Promise<State> | undefined;

  constructor(
    private readonly store: EventStore,
    private readonly fold: Fold<State>,
  ) {
    this.state = fold.initial;
  }

  latest(): Promise<State> {
    if (this.next !== undefined) return this.next;
    if (this.running === undefined) return this.begin();
    // The read in progress may have passed the end of the log before this caller asked: it needs one that starts now.
    const begin = (): Promise<State> => this.begin();
    this.next = this.running.then(begin, begin);
    return this.next;
  }

  private begin(): Promise<State> {
    this.next = undefined;
    const running = this.read().finally(() => {
      if (this.running === running) this.running = undefined;
    });
    this.running = running;
    return running;
  }

  private async read(): Promise<State> {
    for (const filter of this.fold.filters) {
      const found = await this.store.read(filter, this.readSeqs.get(filter) ?? 0);
      for (const { event } of found) {
        this.state = this.fold.evolve(this.state, event);
        this.readSeqs.set(filter, event.meta.seq);
      }
    }
    return this.state;
  }
}
