/** What was tried while holding a lock: its result, or that someone else holds it. */
export type Held<T> = { readonly kind: 'held'; readonly result: T } | { readonly kind: 'taken' };

/** Locks by name over all replicas of this service. A holder that dies holds nothing any more. */
export interface Locks {
  /**
   * Runs `work` while no one else holds the name; waits up to `waitMs` for that. The signal of `work` aborts when the lock
   * cannot be vouched for any longer.
   */
  hold<T>(name: string, waitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<Held<T>>;
}
