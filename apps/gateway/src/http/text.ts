import { refuse, type Refusal } from '@fairlead/contracts';

/** What neither the log nor PostgreSQL keeps as it is, or people cannot read: control characters and unpaired surrogates. */
const UNSTORABLE = /(?![\t\n\r])[\p{Cc}\p{Cs}]/u;
const EVERY_UNSTORABLE = new RegExp(UNSTORABLE, 'gu');

const codeOf = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;

/** The text as it can be shown: each character that cannot be stored is escaped as JSON does. */
export const shownText = (text: string): string =>
  text.replaceAll(EVERY_UNSTORABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Why the text cannot be stored; undefined: it can. */
export const textFault = (text: string, field: string): Refusal | undefined => {
  const [character] = UNSTORABLE.exec(text) ?? [];
  if (character === undefined) return undefined;
  const shown = shownText(field);
  return refuse('request.text-unstorable', { field: shown, character: codeOf(character) }, shown);
};

/** The same of the names and values of a flat record; a value may be a list. */
export const recordFault = (record: Readonly<Record<string, unknown>>): Refusal | undefined => {
  for (const [name, value] of Object.entries(record)) {
    for (const text of [name, value].flat()) {
      const fault = typeof text === 'string' ? textFault(text, name) : undefined;
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
};

/** Deeper than any request of this API. Whatever walks a body after this check may recurse. */
const DEPTH_MAX = 32;

interface Part {
  readonly value: unknown;
  readonly field: string;
  readonly depth: number;
}

const below = (field: string, key: string | number): string => {
  if (typeof key === 'number') return `${field}[${key}]`;
  return field === '' ? key : `${field}.${key}`;
};

const partFault = ({ value, field, depth }: Part): Refusal | undefined => {
  if (typeof value === 'string') return textFault(value, field);
  if (typeof value === 'number' && !Number.isFinite(value))
    return refuse('request.malformed', { detail: `${field}: the number is too large` }, field);
  if (typeof value === 'object' && value !== null && depth > DEPTH_MAX)
    return refuse('request.malformed', { detail: `The body is nested more than ${DEPTH_MAX} levels deep` });
  return undefined;
};

const keyFault = (value: object, field: string): Refusal | undefined => {
  for (const key of Object.keys(value)) {
    const fault = textFault(key, below(field, key));
    if (fault !== undefined) return fault;
  }
  return undefined;
};

const partsOf = (value: object, { field, depth }: Part): readonly Part[] => {
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item: unknown, index) => [index, item] as const)
    : Object.entries(value);
  return entries.map(([key, inner]) => ({ value: inner, field: below(field, key), depth: depth + 1 }));
};

/** The first thing in a parsed JSON body that cannot be stored, at any depth, keys included. It does not recurse. */
export const bodyFault = (body: unknown): Refusal | undefined => {
  const waiting: Part[] = [{ value: body, field: '', depth: 1 }];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const { value, field } = part;
    const fault = partFault(part);
    if (fault !== undefined) return fault;
    if (typeof value !== 'object' || value === null) continue;
    const ofKeys = Array.isArray(value) ? undefined : keyFault(value, field);
    if (ofKeys !== undefined) return ofKeys;
    for (const inner of partsOf(value, part).toReversed()) waiting.push(inner);
  }
  return undefined;
};
