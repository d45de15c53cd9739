import { EXEC_LIMITS, refuse, type Refusal } from '@fairlead/contracts';
import { issueWords, parseByShape, refusalsOfIssues } from '@fairlead/domain';
import { Injectable, StandardSchemaValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import * as z from 'zod';
import { RefusalError } from './refusal.error.js';

type Issue = z.core.$ZodIssue;

/** A body that is no request's as it came, by its schema. */
export const parseBody = <Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> => {
  const shape = parseByShape(schema, body);
  if ('data' in shape) return shape.data;
  const [first, ...others] = shape.faults;
  throw first === undefined ? new Error('a schema failed without an issue') : new RefusalError(first, ...others);
};

/** What a path parameter that cannot be a name is the name of: nothing. */
export const UNKNOWN = {
  namespace: 'namespace.unknown',
  cluster: 'cluster.unknown',
  generation: 'cluster.generation-unknown',
  node: 'node.unknown',
  connection: 'connection.not-found',
  realm: 'realm.not-found',
  application: 'application.not-found',
  version: 'application.version-not-found',
  token: 'token.unknown',
  operation: 'operation.unknown',
  upgrade: 'upgrade.unknown',
  pool: 'pool.unknown',
  host: 'join.host-unknown',
  template: 'template.unknown',
  request: 'etcd.request-unknown',
  snapshot: 'etcd.snapshot-unknown',
  credential: 'autoscaler.credential-unknown',
  execution: 'node.exec-unknown',
  orphan: 'connection.orphan-unknown',
  secret: 'hook.secret-unknown',
  addonSecret: 'addon.secret-unknown',
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
    if (metadata.type === 'param') throw new RefusalError(unknownName(issues, given as Record<string, string>));
    const [first, ...others] = refusalsOfIssues(schema, issues);
    throw first === undefined ? new Error('a schema failed without an issue') : new RefusalError(first, ...others);
  }
}
