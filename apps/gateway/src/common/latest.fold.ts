import type { StoredEvent } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';

export interface Fold<State> {
  /** Subjects whose events make up the state. */
  readonly filter: string;
  readonly initial: State;
  evolve(state: State, event: StoredEvent): State;
}

/**
 * A state that many requests ask for, folded from the log. Each caller sees everything that was in the log when it asked; all
 * that ask while a read is under way share the next one, so that a thousand requests at once cost a few reads.
 */
export class LatestFold<State> {
  private state: State;
  private readSeq = 0;
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
    const found = await this.store.read(this.fold.filter, this.readSeq);
    for (const { event } of found) {
      this.state = this.fold.evolve(this.state, event);
      this.readSeq = event.meta.seq;
    }
    return this.state;
  }
}
