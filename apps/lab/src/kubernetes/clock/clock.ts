/** Cancels a scheduled call. Has no effect if called twice or after the call ran. */
export type Cancel = () => void;

/** The simulation's clock and timers. Times are milliseconds since 1970. */
export interface Clock {
  now(): number;
  /** Calls `run` once, not before `dueMs`. If that is in the past, runs after the current work. */
  at(dueMs: number, run: () => void): Cancel;
}

/** Timestamps of the Kubernetes API: whole seconds, UTC. */
export const timestamp = (atMs: number): string => new Date(atMs).toISOString().replace(/\.\d{3}Z$/, 'Z');

/** Timestamps of leases: microseconds. */
export const microTimestamp = (atMs: number): string => new Date(atMs).toISOString().replace(/Z$/, '000Z');

/** The inverse of `timestamp`. */
export const timeOf = (text: string): number => Date.parse(text);
