/** `later`: it asked to be called again; `failed`: it is tried again; `buried`: it is not, and lies with the dead letters. */
export type JobOutcome = 'done' | 'later' | 'failed' | 'buried';

/** Is told what lanes and jobs do, for metrics. Must not throw. */
export interface Meter {
  /** All consumers of the service have these events now; ages in milliseconds since each was appended. */
  eventsTaken(agesMs: readonly number[]): void;
  jobEnded(job: { readonly type: string; readonly outcome: JobOutcome; readonly durationMs: number }): void;
}
