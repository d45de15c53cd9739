import { isBelowLadybug } from './documented.js';
import type { HttpRequest } from './http.types.js';

/** Longest wait for the end of a command. */
const WAIT_SECONDS_MAX = 600;

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const WORD = `(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*")`;
const VALUED = `(?:[ \\t]*=[ \\t]*${WORD})?[ \\t]*`;
/** RFC 7240: preferences separated by commas, each with parameters of its own. */
const PREFERENCE = new RegExp(
  `^[ \\t]*(${TOKEN})(?:[ \\t]*=[ \\t]*(${WORD}))?[ \\t]*(?:;[ \\t]*(?:${TOKEN}${VALUED})?)*$`,
);
/** What is between commas; a comma in quotes is none. */
const PARTS = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
const HEADER_LENGTH_MAX = 500;
const SECONDS = /^\d{1,9}$/;

/** The seconds that a Prefer header asks to wait: 0 when it does not ask, undefined when it cannot be read. */
export const waitSecondsOf = (prefer: string | undefined): number | undefined => {
  if (prefer === undefined || prefer.trim() === '') return 0;
  if (prefer.length > HEADER_LENGTH_MAX) return undefined;
  let seconds = 0;
  let found = false;
  for (const part of prefer.match(PARTS) ?? []) {
    if (part.trim() === '') continue;
    const [matched, name = '', value = ''] = PREFERENCE.exec(part) ?? [];
    if (matched === undefined) return undefined;
    if (name.toLowerCase() !== 'wait') continue;
    const digits = value.replaceAll('"', '');
    if (!SECONDS.test(digits)) return undefined;
    // Of one preference twice, the first counts.
    if (!found) seconds = Math.min(Number(digits), WAIT_SECONDS_MAX);
    found = true;
  }
  return seconds;
};

/** CB-Ladybug's clients do not learn what is wrong with a header that it does not know. */
export const isLenient = ({ path }: Pick<HttpRequest, 'path'>): boolean => isBelowLadybug(path);
