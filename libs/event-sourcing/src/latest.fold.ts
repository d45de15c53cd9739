import type { StoredEvent } from '@fairlead/contracts';
import type { EventStore } from './store.js';

export interface Fold<State> {
  /** Subjects whose events make up the state. They are read one after the other: `evolve` sees events in order within each only. */
  readonly filters: readonly string[];
  readonly initial: State;
  evolve(state: State, event: StoredEvent): State;
}

/**
 * A state that many requests ask for, folded from the log. Each caller sees everything that was in the log when it asked; all
 * that ask while a read is under way share the next one, so that a thousand requests at once cost a few reads.
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
    // The read under way may have passed the end of the log before this caller asked: it needs one that begins now.
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
