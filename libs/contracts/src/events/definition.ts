import type { z } from 'zod';

export const SERVICES = ['gateway', 'infra-svc', 'bootstrap-svc', 'upgrade-svc'] as const;
export type ServiceName = (typeof SERVICES)[number];

/** Who may state a fact. The NATS server enforces it: see permissions.ts. */
export type Writer = ServiceName | 'node-agent' | 'every-service';

/**
 * The deciding aggregate inside a cluster; `<name>` is a node's or a connection's.
 * It is one token of the subject, and the unit of optimistic concurrency and of the hash chain.
 */
export type ContextPattern =
  | 'wish'
  | 'audit'
  | 'machines'
  | 'bootstrap'
  | 'rollout'
  | 'desired-<node>'
  | 'health-<node>'
  | 'node-<node>'
  | 'resources-<connection>'
  | 'stock-<connection>'
  | 'parked-<service>';

export interface EventDefinition<Data extends z.ZodType = z.ZodType> {
  readonly version: number;
  readonly writer: Writer;
  readonly context: ContextPattern;
  /** One sentence: what is now true. */
  readonly doc: string;
  readonly data: Data;
}

export const defineEvent = <Data extends z.ZodType>(definition: EventDefinition<Data>): EventDefinition<Data> =>
  definition;
