import type { z } from 'zod';

/** The services behind the gateway. */
export const INNER_SERVICES = ['infra-svc', 'bootstrap-svc', 'upgrade-svc'] as const;
/** The only list of services: every other one derives from it. */
export const SERVICES = ['gateway', ...INNER_SERVICES] as const;
export type ServiceName = (typeof SERVICES)[number];

/** Who may state a fact. The NATS server enforces it: see permissions.ts. */
export type Writer = ServiceName | 'node-agent' | 'every-service';

/**
 * The deciding aggregate inside a cluster; `<name>` is that of a node, a connection or an application.
 * It is one token of the subject, and the unit of optimistic concurrency and of the hash chain.
 */
export type ContextPattern =
  | 'request'
  | 'audit'
  | 'machines'
  | 'bootstrap'
  | 'access'
  | 'rollout'
  | 'ssh-keys'
  | 'identity'
  | 'addons'
  | 'joins'
  | 'realms'
  | 'desired-<node>'
  | 'health-<node>'
  | 'node-<node>'
  | 'resources-<connection>'
  | 'stock-<connection>'
  | 'catalogue-<application>'
  | 'quarantine-<service>'
  | 'process-<service>';

/** What a fact is about: it is in the stream of exactly that, and concerns nothing else. `any`: whatever its context belongs to. */
export type Scope = 'cluster' | 'namespace' | 'installation' | 'any';

export interface EventDefinition<Data extends z.ZodType = z.ZodType> {
  readonly version: number;
  readonly writer: Writer;
  readonly context: ContextPattern;
  /** Absent: what its context belongs to (`scopeOf`). */
  readonly scope?: Scope;
  /** One sentence: what is now true. */
  readonly doc: string;
  readonly data: Data;
}

export const defineEvent = <Data extends z.ZodType>(definition: EventDefinition<Data>): EventDefinition<Data> =>
  definition;

/** Connections with their hosts, and applications, belong to no namespace; everything else is a cluster's, unless its definition says otherwise. */
export const scopeOf = ({ scope, context }: Pick<EventDefinition, 'scope' | 'context'>): Scope => {
  if (scope !== undefined) return scope;
  if (context.includes('<connection>') || context.includes('<application>')) return 'installation';
  return context.includes('<service>') ? 'any' : 'cluster';
};
