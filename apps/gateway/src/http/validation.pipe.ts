import { EXEC_LIMITS, nearestOf, refuse, type Refusal } from '@fairlead/contracts';
import { Injectable, StandardSchemaValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import * as z from 'zod';
import { issueWords } from './issue.words.js';
import { Refused } from './refused.js';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** So many faults of a request are listed: a body may have thousands, and each is several times longer in the answer. */
const FAULTS_MAX = 20;
/** A field may have any name in a request. */
const FIELD_LENGTH_MAX = 200;

const shortened = (field: string): string =>
  field.length > FIELD_LENGTH_MAX ? `${field.slice(0, FIELD_LENGTH_MAX)}…` : field;

/** `config.kubernetes.podCidr`, `worker[0].spec`: how a field is named in a refusal. */
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

/** Without what says only that it may be left out. */
const unwrapped = (schema: unknown): unknown =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? unwrapped(schema.unwrap())
    : schema;

/** The fields that a schema has at a path; none: it is not an object there. */
const fieldsAt = (schema: unknown, path: Path): readonly string[] => {
  const [first, ...rest] = path;
  const here = unwrapped(schema);
  if (here instanceof z.ZodArray) return fieldsAt(first === undefined ? undefined : here.element, rest);
  if (!(here instanceof z.ZodObject)) return [];
  return first === undefined ? Object.keys(here.shape) : fieldsAt(here.shape[String(first)], rest);
};

/** With the known name that was probably meant. */
const unknownField = (schema: unknown, path: Path, key: string): Refusal => {
  const field = shortened(fieldPath([...path, key]));
  const refusal = refuse('request.unknown-field', { field }, field);
  const nearest = nearestOf(key, fieldsAt(schema, path));
  return nearest === undefined ? refusal : { ...refusal, help: `Did you mean ${fieldPath([...path, nearest])}?` };
};

/** A misspelt field comes before the one that is missing for it. */
const refusalsOfIssues = (schema: unknown, issues: readonly Issue[]): readonly Refusal[] => {
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

/** A body that is no request's as it came, by its schema. */
export const parseBody = <Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> => {
  const result = schema.safeParse(body, { error: issueWords });
  if (result.success) return result.data;
  const [first, ...others] = refusalsOfIssues(schema, result.error.issues);
  throw first === undefined ? new Error('a schema failed without an issue') : new Refused(first, ...others);
};

/** What a path parameter that cannot be a name is the name of: nothing. */
export const UNKNOWN = {
  namespace: 'namespace.unknown',
  cluster: 'cluster.unknown',
  node: 'node.unknown',
  connection: 'connection.not-found',
  realm: 'realm.not-found',
  application: 'application.not-found',
  version: 'application.version-not-found',
  token: 'token.unknown',
  operation: 'operation.unknown',
  upgrade: 'upgrade.unknown',
  pool: 'pool.unknown',
  template: 'template.unknown',
  request: 'etcd.request-unknown',
  snapshot: 'etcd.snapshot-unknown',
  credential: 'autoscaler.credential-unknown',
  execution: 'node.exec-unknown',
  orphan: 'connection.orphan-unknown',
  secret: 'hook.secret-unknown',
  hook: 'hook.holds-nothing',
} as const;

type PathParameter = keyof typeof UNKNOWN;

const isPathParameter = (name: PropertyKey): name is PathParameter => Object.hasOwn(UNKNOWN, name);

const unknownName = (issues: readonly Issue[], params: Readonly<Record<string, string>>): Refusal => {
  const name = issues[0]?.path[0] ?? '';
  if (!isPathParameter(name)) throw new Error(`no refusal says that ${String(name)} is unknown`);
  const said = { ...params, id: params[name] ?? '', seconds: EXEC_LIMITS.keptSeconds, about: '' };
  return refuse(UNKNOWN[name], said);
};

/** Checks bodies, queries and paths by the zod schema at each parameter; global, since a schema alone only documents. */
@Injectable()
export class RequestPipe extends StandardSchemaValidationPipe {
  override async transform<T>(value: T, metadata: ArgumentMetadata): Promise<T> {
    const { schema } = metadata;
    if (schema === undefined || metadata.type === 'custom') return value;
    const given = value ?? {};
    this.stripProtoKeys(given);
    // Our schemas are zod's, whose issues are richer than the standard's.
    const result = await (schema as unknown as z.ZodType<T>).safeParseAsync(given, { error: issueWords });
    if (result.success) return result.data;
    const { issues } = result.error;
    if (metadata.type === 'param') throw new Refused(unknownName(issues, given as Record<string, string>));
    const [first, ...others] = refusalsOfIssues(schema, issues);
    throw first === undefined ? new Error('a schema failed without an issue') : new Refused(first, ...others);
  }
}
