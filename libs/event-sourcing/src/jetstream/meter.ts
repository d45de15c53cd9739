import type { RejectionReason } from '../acceptance.js';

/** `later`: it asked to be called again; `failed`: it is retried; `buried`: it is not, and lies with the dead letters. */
export type JobOutcome = 'done' | 'requeued' | 'failed' | 'buried';

/** Receives what partitions and jobs do, for metrics. Must not throw. */
export interface Meter {
  /** All consumers of the service have these events now; ages in milliseconds since each was appended. */
  eventsTaken(agesMs: readonly number[]): void;
  /** So many messages of the log were no events; each is counted once per service. */
  eventsRejected(reason: RejectionReason, count: number): void;
  jobEnded(job: { readonly type: string; readonly outcome: JobOutcome; readonly durationMs: number }): void;
}
