/** Cancels what was scheduled; calling it again, or after it ran, does nothing. */
export type Cancel = () => void;

/** Time for the simulation: reading it, and being called once when it has come. Times are milliseconds since 1970. */
export interface Clock {
  now(): number;
  /** Calls `run` once, not before `dueMs`. A time in the past means as soon as the current work is done. */
  at(dueMs: number, run: () => void): Cancel;
}

/** The form in which the Kubernetes API writes times: whole seconds, UTC. */
export const timestamp = (atMs: number): string => new Date(atMs).toISOString().replace(/\.\d{3}Z$/, 'Z');

/** The form of lease times: microseconds. */
export const microTimestamp = (atMs: number): string => new Date(atMs).toISOString().replace(/Z$/, '000Z');

/** The inverse of `timestamp`. */
export const timeOf = (text: string): number => Date.parse(text);
