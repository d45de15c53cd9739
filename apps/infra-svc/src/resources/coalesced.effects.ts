import { LRUCache } from 'lru-cache';

const ENTRIES_MAX = 1_000;

/** Concurrent callers share one result, which is cached for a while. Failures are not cached. */
export class Coalesced<Answer extends object> {
  private readonly answers = new LRUCache<string, Promise<Answer>>({ max: ENTRIES_MAX });

  constructor(private readonly freshForMs: number) {}

  get(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    return this.answers.get(key) ?? this.renew(key, ask);
  }

  /** Fetches a new result, whatever is cached. */
  renew(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const answer = ask();
    this.answers.set(key, answer);
    const isLatest = (): boolean => this.answers.peek(key) === answer;
    answer.then(
      () => isLatest() && this.answers.set(key, answer, { ttl: this.freshForMs }),
      () => isLatest() && this.answers.delete(key),
    );
    return answer;
  }
}
