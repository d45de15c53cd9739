import type { Recording } from '../http/documented.js';

/** How many requests may come: `burst` at once, and `perSecond` without end. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** A token bucket: what was left of the burst, and when. */
export interface Bucket {
  readonly left: number;
  readonly atMs: number;
}

/** A body counts as one more request for each further piece of this size: what is recorded is bounded in bytes, too. */
export const BODY_PIECE_BYTES = 16 * 1024;
const BODY_MAX_BYTES = 256 * 1024;

const MS_PER_SECOND = 1_000;

/** What is left of a bucket now; one that was never used is full. */
export const leftOf = (bucket: Bucket | undefined, rate: Rate, nowMs: number): number => {
  if (bucket === undefined) return rate.burst;
  const refilled = (Math.max(0, nowMs - bucket.atMs) / MS_PER_SECOND) * rate.perSecond;
  return Math.min(rate.burst, bucket.left + refilled);
};

/** Milliseconds until a request of this cost may come; 0: now. One that costs more than the whole burst waits for a full bucket. */
export const waitOf = (bucket: Bucket | undefined, rate: Rate, cost: number, nowMs: number): number => {
  const missing = Math.min(cost, rate.burst) - leftOf(bucket, rate, nowMs);
  return missing <= 0 ? 0 : Math.ceil((missing / rate.perSecond) * MS_PER_SECOND);
};

/** The bucket after the request. */
export const spend = (bucket: Bucket | undefined, rate: Rate, cost: number, nowMs: number): Bucket => ({
  left: Math.max(0, leftOf(bucket, rate, nowMs) - cost),
  atMs: nowMs,
});

/** How long it takes until an empty bucket is full again, and need not be remembered. */
export const fullAfterMs = ({ perSecond, burst }: Rate): number => Math.ceil((burst / perSecond) * MS_PER_SECOND);

/** What is used of a request. */
export interface RequestedRecords {
  readonly records: Recording;
  /** Of Content-Length; undefined: a body may come without one. */
  readonly bodyBytes: number | undefined;
}

/** Whether a request adds to the log, as its route declares. */
export const isChange = ({ records }: Pick<RequestedRecords, 'records'>): boolean => records !== 'nothing';

/** As how many requests it counts. A body of unknown length counts as the largest. */
export const costOf = (asked: RequestedRecords): number =>
  isChange(asked) ? Math.max(1, Math.ceil((asked.bodyBytes ?? BODY_MAX_BYTES) / BODY_PIECE_BYTES)) : 1;
