import type { z } from 'zod';

/** The services behind the gateway. */
export const INNER_SERVICES = ['infra-svc', 'bootstrap-svc', 'upgrade-svc'] as const;
/** The only list of services: all others derive from it. */
export const SERVICES = ['gateway', ...INNER_SERVICES] as const;
export type ServiceName = (typeof SERVICES)[number];

/** Who may write a fact. The NATS server enforces it: see permissions.ts. */
export type Writer = ServiceName | 'node-agent' | 'every-service';

/**
 * The aggregate within a cluster; `<name>` is that of a node, a connection or an application. One token of the subject,
 * and the unit of optimistic concurrency and of the hash chain.
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
  | 'publication'
  | 'power'
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

/** What a fact is about: its stream belongs to exactly that. `any`: whatever its context belongs to. */
export type Scope = 'cluster' | 'namespace' | 'installation' | 'any';

export interface EventDefinition<Data extends z.ZodType = z.ZodType> {
  readonly version: number;
  readonly writer: Writer;
  readonly context: ContextPattern;
  /** Absent: derived from its context (`scopeOf`). */
  readonly scope?: Scope;
  /** One sentence that states what is now true. */
  readonly doc: string;
  readonly data: Data;
}

export const defineEvent = <Data extends z.ZodType>(definition: EventDefinition<Data>): EventDefinition<Data> =>
  definition;

/**
 * Connections with their hosts, and applications, belong to no namespace; every other event belongs to a cluster unless
 * its definition says otherwise.
 */
export const scopeOf = ({ scope, context }: Pick<EventDefinition, 'scope' | 'context'>): Scope => {
  if (scope !== undefined) return scope;
  if (context.includes('<connection>') || context.includes('<application>')) return 'installation';
  return context.includes('<service>') ? 'any' : 'cluster';
};
