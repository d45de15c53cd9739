import type { z } from 'zod';

type RawIssue = z.core.$ZodRawIssue;

/** Names for zod's types in refusals. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'a time such as 2026-11-21T08:00:00Z',
  url: 'a URL',
  uuid: 'a UUID',
  hostname: 'the name of a host',
  base64: 'in base64',
  ipv4: 'an IPv4 address',
};

/** Maximum length of a value that a refusal repeats. */
const SHOWN_MAX = 60;

/**
 * Query parameters are converted to numbers before validation, so a text is NaN here; a number may also be infinite.
 */
const numberWords = (value: number): string => {
  if (Number.isNaN(value)) return 'a text';
  if (!Number.isFinite(value)) return 'one without an end';
  return Number.isInteger(value) ? 'a number' : `${value}`;
};

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return numberWords(value);
  return TYPES[typeof value] ?? typeof value;
};

/** Repeats the value only if it is short enough to be a misspelt choice. */
const notShown = (value: unknown): string => {
  if (typeof value === 'string') return value.length > SHOWN_MAX ? '' : `, not '${value}'`;
  return typeof value === 'number' || typeof value === 'boolean' ? `, not ${value}` : `, not ${typeOf(value)}`;
};

const choices = (values: readonly unknown[], input: unknown): string =>
  input === undefined
    ? 'it is missing'
    : `must be ${values.length === 1 ? '' : 'one of '}${values.map(String).join(', ')}${notShown(input)}`;

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  map: ['entry', 'entries'],
};

const limit = (bound: 'least' | 'most', origin: string, value: number | bigint): string => {
  const unit = UNITS[origin];
  if (unit === undefined) return `must be at ${bound} ${value}`;
  if (bound === 'least' && value === 1) return 'must not be empty';
  return `must have at ${bound} ${value} ${unit[Number(value) === 1 ? 0 : 1]}`;
};

/** The types that the branches of a union allow; undefined: the value has one of them, and the fault is inside it. */
const unionTypes = (errors: readonly (readonly z.core.$ZodIssue[])[]): readonly string[] | undefined => {
  const types = errors.map(([first]) =>
    first?.code === 'invalid_type' && first.path.length === 0 ? TYPES[first.expected] : undefined,
  );
  return types.length > 0 && types.every((type) => type !== undefined) ? [...new Set(types)] : undefined;
};

type UnionIssue = Extract<RawIssue, { code: 'invalid_union' }>;

const ofUnion = ({ discriminator, options, errors, input }: UnionIssue): string => {
  if (discriminator !== undefined && Array.isArray(options))
    return choices(options, (input as Readonly<Record<string, unknown>> | undefined)?.[discriminator]);
  const types = unionTypes(errors);
  if (types === undefined) return 'has none of the forms that are allowed here';
  return input === undefined ? 'it is missing' : `must be ${types.join(' or ')}, not ${typeOf(input)}`;
};

/**
 * The fault of a value as a sentence without its subject: `must be a number, not a text`. For schemas without their own
 * message; undefined: zod's message is used.
 */
export const issueWords = (issue: RawIssue): string | undefined => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'it is missing';
      return `must be ${TYPES[issue.expected] ?? issue.expected}, not ${typeOf(issue.input)}`;
    case 'invalid_value':
      return choices(issue.values, issue.input);
    case 'too_small':
      return issue.inclusive === false
        ? `must be more than ${issue.minimum}`
        : limit('least', issue.origin, issue.minimum);
    case 'too_big':
      return issue.inclusive === false
        ? `must be less than ${issue.maximum}`
        : limit('most', issue.origin, issue.maximum);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      if (issue.format === 'regex' && issue.pattern !== undefined) return `must match ${issue.pattern}`;
      return FORMATS[issue.format] === undefined ? undefined : `must be ${FORMATS[issue.format]}`;
    case 'invalid_union':
      return ofUnion(issue);
    case 'invalid_key':
      // The key is the last part of the path.
      return issue.issues[0]?.message;
    default:
      return undefined;
  }
};
