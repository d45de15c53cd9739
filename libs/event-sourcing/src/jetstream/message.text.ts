/** JSON escapes that PostgreSQL cannot store: U+0000 and surrogates (a pair is valid; the full check decides). */
const SUSPECT = /\\u(?:0000|d[89a-f])/i;

const REPLACEMENT = '\uFFFD';
const LONE_SURROGATE = /\p{Surrogate}/gu;

export const storableText = (text: string): string =>
  text.replaceAll('\u0000', REPLACEMENT).replace(LONE_SURROGATE, REPLACEMENT);

const storable = (value: unknown): unknown => {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableText(key), storable(inner)]));
};

/** Whether a value is nested deeper than this. Called for every message, so it allocates nothing. */
const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) {
    const inner = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof inner === 'object' && inner !== null && isDeeper(inner, levels - 1)) return true;
  }
  return false;
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const DEPTH_MAX = 64;

/** The JSON value of a message, in which every string can be stored by a database. */
export const parseMessage = (bytes: Uint8Array): { readonly value: unknown } | 'not-json' | 'too-deep' => {
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    return 'not-json';
  }
  if (isDeeper(value, DEPTH_MAX)) return 'too-deep';
  return { value: text.includes('\\u') && SUSPECT.test(text) ? storable(value) : value };
};
