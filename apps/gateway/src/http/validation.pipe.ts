import { refuse, type Refusal } from '@fairlead/contracts';
import { Injectable, StandardSchemaValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import type { z } from 'zod';
import { Refused } from './refused.js';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** `config.kubernetes.podCidr`, `worker[0].spec`: how a field is named in a refusal. */
export const fieldPath = (path: Path): string =>
  path.reduce<string>((before, part) => {
    if (typeof part === 'number') return `${before}[${part}]`;
    return before === '' ? String(part) : `${before}.${String(part)}`;
  }, '');

const malformed = (issue: Issue): Refusal => {
  const field = fieldPath(issue.path);
  const detail = field === '' ? issue.message : `${field}: ${issue.message}`;
  return refuse('request.malformed', { detail }, field === '' ? undefined : field);
};

const refusalsOfIssues = (issues: readonly Issue[]): readonly Refusal[] =>
  issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => {
          const field = fieldPath([...issue.path, key]);
          return refuse('request.unknown-field', { field }, field);
        })
      : [malformed(issue)],
  );

/** What a path parameter that cannot be a name is the name of: nothing. */
const UNKNOWN = {
  namespace: 'namespace.unknown',
  cluster: 'cluster.unknown',
  node: 'node.unknown',
  connection: 'connection.not-found',
  token: 'token.unknown',
  operation: 'operation.unknown',
  upgrade: 'upgrade.unknown',
  pool: 'pool.unknown',
  request: 'etcd.request-unknown',
} as const;

type PathParameter = keyof typeof UNKNOWN;

const isPathParameter = (name: PropertyKey): name is PathParameter => Object.hasOwn(UNKNOWN, name);

const unknownName = (issues: readonly Issue[], params: Readonly<Record<string, string>>): Refusal => {
  const name = issues[0]?.path[0] ?? '';
  if (!isPathParameter(name)) throw new Error(`no refusal says that ${String(name)} is unknown`);
  return refuse(UNKNOWN[name], { ...params, id: params[name] ?? '' });
};

/** Checks bodies, queries and paths by the zod schema at each parameter; global, since a schema alone only documents. */
@Injectable()
export class RequestPipe extends StandardSchemaValidationPipe {
  override async transform<T>(value: T, metadata: ArgumentMetadata): Promise<T> {
    const { schema } = metadata;
    if (schema === undefined || metadata.type === 'custom') return value;
    const given = value ?? {};
    this.stripProtoKeys(given);
    const result = await this.validate<T>(given, schema);
    if (result.issues === undefined) return result.value;
    // Our schemas are zod's, whose issues are richer than the standard's.
    const issues = result.issues as unknown as readonly Issue[];
    if (metadata.type === 'param') throw new Refused(unknownName(issues, given as Record<string, string>));
    const [first, ...others] = refusalsOfIssues(issues);
    throw first === undefined ? new Error('a schema failed without an issue') : new Refused(first, ...others);
  }
}
