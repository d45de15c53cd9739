import type { Since } from '../command/parsers.js';
import type { Io } from '../io/io.js';

export interface Begin {
  /** Entries after this sequence of the log ... */
  readonly seq: number;
  /** ... that are not older than this, in milliseconds. */
  readonly time: number;
}

/** Where a history starts. */
export const beginOf = (since: Since, io: Pick<Io, 'now'>): Begin => {
  if (typeof since === 'number') return { seq: since, time: Number.NEGATIVE_INFINITY };
  return { seq: 0, time: typeof since === 'string' ? Date.parse(since) : io.now() - since.agoMs };
};
