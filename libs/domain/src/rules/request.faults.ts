import * as z from 'zod';
import { nearestOf, refuse, type Refusal } from '@fairlead/contracts';
import { issueWords } from './issue.words.js';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/**
 * Maximum number of faults listed: a body may have thousands, and each takes several times its size in the response.
 */
const FAULTS_MAX = 20;
/** Field names in a request can have any length. */
const FIELD_LENGTH_MAX = 200;

const shortened = (field: string): string =>
  field.length > FIELD_LENGTH_MAX ? `${field.slice(0, FIELD_LENGTH_MAX)}…` : field;

/** The name of a field in a refusal: `config.kubernetes.podCidr`, `worker[0].spec`. */
export const fieldPath = (path: Path): string =>
  path.reduce<string>((before, part) => {
    if (typeof part === 'number') return `${before}[${part}]`;
    return before === '' ? String(part) : `${before}.${String(part)}`;
  }, '');

const malformed = (issue: Issue): Refusal => {
  const field = shortened(fieldPath(issue.path));
  const detail = field === '' ? `The request ${issue.message}` : `${field}: ${issue.message}`;
  return refuse('request.malformed', { detail }, field === '' ? undefined : field);
};

/** Unwraps optional and defaulted schemas. */
const unwrapped = (schema: unknown): unknown =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? unwrapped(schema.unwrap())
    : schema;

/** The fields of a schema at a path; empty if it is not an object there. */
const fieldsAt = (schema: unknown, path: Path): readonly string[] => {
  const [first, ...rest] = path;
  const here = unwrapped(schema);
  if (here instanceof z.ZodArray) return fieldsAt(first === undefined ? undefined : here.element, rest);
  if (!(here instanceof z.ZodObject)) return [];
  return first === undefined ? Object.keys(here.shape) : fieldsAt(here.shape[String(first)], rest);
};

/** Suggests the nearest known name. */
const unknownField = (schema: unknown, path: Path, key: string): Refusal => {
  const field = shortened(fieldPath([...path, key]));
  const refusal = refuse('request.unknown-field', { field }, field);
  const nearest = nearestOf(key, fieldsAt(schema, path));
  return nearest === undefined ? refusal : { ...refusal, help: `Did you mean ${fieldPath([...path, nearest])}?` };
};

/** A misspelt field is reported before the missing one that it was meant to be. */
export const refusalsOfIssues = (schema: unknown, issues: readonly Issue[]): readonly Refusal[] => {
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => ({ path: issue.path, key })) : [],
  );
  const wrong = issues.filter(({ code }) => code !== 'unrecognized_keys');
  const more = unknown.length + wrong.length - FAULTS_MAX;
  return [
    ...unknown.slice(0, FAULTS_MAX).map(({ path, key }) => unknownField(schema, path, key)),
    ...wrong.slice(0, Math.max(0, FAULTS_MAX - unknown.length)).map(malformed),
    ...(more > 0 ? [refuse('request.more-faults', { count: String(more) })] : []),
  ];
};

/** Parses a body by its schema, or returns all faults. */
export const parseByShape = <Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): { readonly data: z.infer<Schema> } | { readonly faults: readonly Refusal[] } => {
  const result = schema.safeParse(body, { error: issueWords });
  return result.success ? { data: result.data } : { faults: refusalsOfIssues(schema, result.error.issues) };
};
