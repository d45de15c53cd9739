import * as z from 'zod';

const FIRST_YEAR = 1970;
const LAST_YEAR = 2200;

/**
 * A time from an external source: nodes, providers, API servers, archives. RFC 3339 in UTC, from 1970 to 2200, so that
 * JavaScript, PostgreSQL and other readers all accept it.
 */
export const Time = z.iso
  .datetime()
  .refine((text) => Number(text.slice(0, 4)) >= FIRST_YEAR && Number(text.slice(0, 4)) <= LAST_YEAR, {
    error: `must be a time from ${FIRST_YEAR} to ${LAST_YEAR}`,
  });
export type Time = z.infer<typeof Time>;

/** Milliseconds since 1970; undefined: not a valid time. */
export const timeMsOf = (value: unknown): number | undefined => {
  const { data } = Time.safeParse(value);
  return data === undefined ? undefined : Date.parse(data);
};
