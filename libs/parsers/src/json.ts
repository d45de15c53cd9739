import { DEPTH_MAX, type ParseLimits } from './limits.js';
import { malformed, tooDeep, tooLong, tooManyValues } from './parse.failure.js';

/** About 20 MB of memory when parsed. */
const VALUES_MAX = 200_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);
const SEPARATORS: ReadonlySet<number> = new Set([0x2c, 0x3a]);
/** Every significant character outside strings has a code below this one. */
const CODES = 128;

const [OTHER, OPENS, CLOSES, SEPARATES, QUOTES] = [0, 1, 2, 3, 4];
const KINDS = Uint8Array.from({ length: CODES }, (_, code) => {
  if (OPENING.has(code)) return OPENS;
  if (CLOSING.has(code)) return CLOSES;
  if (SEPARATORS.has(code)) return SEPARATES;
  return code === QUOTE ? QUOTES : OTHER;
});

/** The end of the string that begins at `start`. */
const endOfString = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
};

/** Checks depth and number of values before anything is built. Whether the text is valid JSON is left to JSON.parse. */
const checkShape = (text: string, depthMax: number, valuesMax: number): void => {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const kind = KINDS[text.charCodeAt(at)];
    if (kind === QUOTES) at = endOfString(text, at);
    else if (kind === CLOSES) depth -= 1;
    else if (kind === OPENS || kind === SEPARATES) {
      values += 1;
      if (values > valuesMax) throw tooManyValues(valuesMax);
      if (kind === OPENS) depth += 1;
      if (depth > depthMax) throw tooDeep(depthMax);
    }
  }
};

/**
 * Parses untrusted JSON. Takes time in proportion to its length.
 * @throws ParseFailure
 */
export const parseJson = (
  text: string,
  { lengthMax, depthMax = DEPTH_MAX, valuesMax = VALUES_MAX }: ParseLimits,
): unknown => {
  if (text.length > lengthMax) throw tooLong(lengthMax);
  checkShape(text, depthMax, valuesMax);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw malformed('it is not JSON');
  }
};

/** The same for callers that validate the value by a schema that rejects undefined. */
export const parseJsonOrUndefined = (text: string, limits: ParseLimits): unknown => {
  try {
    return parseJson(text, limits);
  } catch {
    return undefined;
  }
};
