import type { Fact, NodeName, Refusal, UpgradeId } from '@fairlead/contracts';
import type { Command, Decider, TaskFailure } from '@fairlead/event-sourcing';
import type { QueuedTask } from '@fairlead/event-sourcing/jetstream';
import type { Bootstrap } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.state.js';
import { UID } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.fixtures.js';
import type { Machines } from '../../apps/infra-svc/src/machines/machines.state.js';

export const FAILURES = [
  'create',
  'delete',
  'unreachable',
  'join',
  'drain',
  'quarantined-bootstrap',
  'quarantined-machines',
] as const;
export type Failure = (typeof FAILURES)[number];

/** The actor of requests. */
export const USER = 'user/sim';
/** The actor of observations. */
export const SEEN = 'system/seen';

export const ADDRESS = { namespace: 'default', cluster: 'demo' };
export const SURGE = { uid: UID, upgradeId: 'u-8f3k2m9q' as UpgradeId, pool: 'worker-1' };

/** How the last attempt at a task ended that failed; undefined: it did what it was to do. */
export type Failed = Pick<TaskFailure, 'cause' | 'attempt'> | undefined;

/** The state of a GrowthWorld that services read, and how they act on it. */
export interface ServiceWorld {
  /** The provider's machines. */
  readonly provider: Set<string>;
  /** The Nodes in Kubernetes. */
  readonly kubernetes: Set<string>;
  /** The members of etcd. */
  readonly etcd: Set<string>;
  /** Nodes whose hosts are down: their agents are silent, and their etcd members do not answer. */
  readonly down: Set<string>;
  /** Control planes whose removal etcd's quorum blocked, with that attempt. */
  readonly blocked: Map<NodeName, number>;
  /** infra-svc's state. */
  readonly infra: Machines;
  /** bootstrap-svc's state. */
  readonly boot: Bootstrap;
  has(failure: Failure): boolean;
  say(fact: Fact): void;
  decide<State, C extends Command, E extends Fact>(
    decider: Decider<State, C, E>,
    state: State,
    command: C,
  ): readonly E[] | Refusal;
  /** Of a task that is tried again and again, until the provider is well. */
  tryLater(asked: QueuedTask): void;
}
