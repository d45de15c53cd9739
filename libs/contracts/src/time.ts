import * as z from 'zod';
import { TIME_LENGTH_MAX } from './text.limits.js';

const FIRST_YEAR = 1970;
const LAST_YEAR = 2200;

const isInYears = (text: string): boolean =>
  Number(text.slice(0, 4)) >= FIRST_YEAR && Number(text.slice(0, 4)) <= LAST_YEAR;
const OUTSIDE = { error: `must be a time from ${FIRST_YEAR} to ${LAST_YEAR}` };

/**
 * A time from an external source: nodes, providers, API servers, archives. RFC 3339 in UTC, from 1970 to 2200, so that
 * JavaScript, PostgreSQL and other readers all accept it.
 */
export const Time = z.iso.datetime().refine(isInYears, OUTSIDE);
export type Time = z.infer<typeof Time>;

/** A time in a request: in UTC. */
export const RequestTime = Time.max(TIME_LENGTH_MAX);
/** A time in a request: in any zone. */
export const ZonedTime = z.iso.datetime({ offset: true }).max(TIME_LENGTH_MAX).refine(isInYears, OUTSIDE);

/** Seconds since 1970, up to the last time that is valid. */
export const UNIX_SECONDS_MAX = Date.UTC(LAST_YEAR, 11, 31, 23, 59, 59) / 1_000;

/** Milliseconds since 1970; undefined: not a valid time. */
export const timeMsOf = (value: unknown): number | undefined => {
  const { data } = Time.safeParse(value);
  return data === undefined ? undefined : Date.parse(data);
};
