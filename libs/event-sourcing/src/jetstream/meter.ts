import type { RejectionReason } from '../acceptance.js';

/** `failed`: it is retried; `buried`: it is not, and is in the dead-letter queue. */
export type AttemptOutcome = 'done' | 'requeued' | 'failed' | 'buried';

/** Receives metrics of partitions and tasks. Must not throw. */
export interface Meter {
  /** All consumers of the service have processed these events; ages in milliseconds since each was appended. */
  eventsTaken(agesMs: readonly number[]): void;
  /** This many messages of the log were not events; each is counted once per service. */
  eventsRejected(reason: RejectionReason, count: number): void;
  attemptEnded(attempt: { readonly type: string; readonly outcome: AttemptOutcome; readonly durationMs: number }): void;
}
