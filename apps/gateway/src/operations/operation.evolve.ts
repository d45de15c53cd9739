import type { Cause, ClusterSpec, EventType, OperationKind, OperationPhase, StoredEvent } from '@fairlead/contracts';
import { actionRequestedIn, replacementIn } from '@fairlead/domain';
import { kindOf, type StepSequence } from './step.sequence.js';
import { actedAtFirst, type ActedNodes } from './node.actions.evolve.js';
import type { Planned } from './step.progress.js';

export interface StepFailure {
  readonly at: string;
  readonly step: string;
  readonly node: string | null;
  readonly cause: Cause;
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly nextAttemptAt: string | null;
}

/** A request about a cluster and what came of it. */
export interface OperationDoc {
  /** Id and sequence of the event that requested it. */
  readonly id: string;
  readonly seq: number;
  readonly kind: OperationKind;
  /** What is done: for a retry, what is done again. */
  readonly course: StepSequence;
  readonly phase: OperationPhase;
  readonly actor: string;
  readonly startedAt: string;
  /** When the steps began: for a retry, when the first attempt did. */
  readonly stepsSince: string;
  readonly finishedAt: string | null;
  readonly marks: { readonly [T in EventType]?: string };
  /** What the facts resulted in, for people. */
  readonly notes: { readonly [T in EventType]?: string };
  /** How many nodes were requested. */
  readonly requested: Planned;
  /** How many machines it deleted. */
  readonly deleted: number;
  /** How often what it does was tried again so far. */
  readonly retries: number;
  /** The nodes of these plans are the operation's. */
  readonly planSeqs: readonly number[];
  readonly planned: Planned;
  /** The names of its machines, without those that were removed since; absent: none is planned, or it is over and has not failed. */
  readonly machines?: readonly string[];
  readonly node: string | null;
  readonly requestId: string | null;
  /** The snapshot of etcd that is verified or restored; absent: it is about none. */
  readonly snapshot?: string;
  /** The pool that is rolled out; absent: it is no rollout. */
  readonly pool?: string;
  /** The nodes that are asked for an action, and how far each is; absent: none are. */
  readonly acted?: ActedNodes;
  /** Connections whose reservations have not begun; absent: no machines are reserved. */
  readonly reserving?: readonly string[];
  readonly failures: readonly StepFailure[];
  readonly failuresTotal: number;
  readonly reason: string;
  readonly message: string;
  /** The step at which it failed, in the words of the service. */
  readonly failedStep: string | null;
  /** It failed, and a retry does not take it up: it was rolled back, given up, or taken up already. */
  readonly isOver?: true;
}

const REQUESTS = [
  'ClusterRequested',
  'ClusterRetryRequested',
  'ClusterDeletionRequested',
  'NodesRequested',
  'NodeRemovalRequested',
  'PoolRolloutRequested',
  'NodeActionRequested',
  'DriftRepairRequested',
  'UpgradeRequested',
  'EtcdSnapshotRequested',
  'EtcdSnapshotVerificationRequested',
  'EtcdRestoreRequested',
] as const satisfies readonly EventType[];
export type Requested = StoredEvent<(typeof REQUESTS)[number]>;

export const isRequest = (event: StoredEvent): event is Requested => REQUESTS.some((type) => type === event.type);

const NONE_PLANNED: Planned = { all: 0, follower: 0, worker: 0 };

const sumOf = (sets: readonly { readonly count: number }[]): number => sets.reduce((sum, { count }) => sum + count, 0);

const specIn = (event: Requested): ClusterSpec | undefined => {
  if (event.type === 'ClusterRequested') return event.data.spec;
  return event.type === 'ClusterRetryRequested' ? event.data.correction?.spec : undefined;
};

const requestedBy = (event: Requested): Planned => {
  if (event.type === 'NodesRequested') {
    const { workers, controlPlane } = event.data;
    const [worker, follower] = [sumOf(workers), controlPlane?.count ?? 0];
    return { all: worker + follower, follower, worker };
  }
  const spec = specIn(event);
  if (spec === undefined) return NONE_PLANNED;
  const { controlPlane, workers } = spec;
  const worker = sumOf(workers);
  return { all: controlPlane.count + worker, follower: controlPlane.count - 1, worker };
};

const requestIdOf = (event: Requested): string | null => {
  if (event.type === 'UpgradeRequested') return event.data.upgradeId;
  return 'requestId' in event.data ? event.data.requestId : null;
};

const doc = (event: StoredEvent, course: StepSequence): OperationDoc => ({
  id: event.meta.id,
  seq: event.meta.seq,
  kind: kindOf(course),
  course,
  phase: 'Running',
  actor: event.meta.actor,
  startedAt: event.meta.time,
  stepsSince: event.meta.time,
  finishedAt: null,
  marks: {},
  notes: {},
  requested: NONE_PLANNED,
  deleted: 0,
  retries: 0,
  planSeqs: [],
  planned: NONE_PLANNED,
  node: null,
  requestId: null,
  failures: [],
  failuresTotal: 0,
  reason: '',
  message: '',
  failedStep: null,
});

export const begun = (event: Requested, kind: Exclude<OperationKind, 'retry'>): OperationDoc => {
  const action = actionRequestedIn(event);
  return {
    ...doc(event, kind),
    requested: requestedBy(event),
    node: event.type === 'NodeRemovalRequested' ? event.data.node : null,
    requestId: requestIdOf(event),
    ...(event.type === 'PoolRolloutRequested' ? { pool: event.data.pool } : {}),
    ...('snapshot' in event.data ? { snapshot: event.data.snapshot } : {}),
    ...(action === undefined ? {} : { acted: actedAtFirst(action, event.meta.time) }),
  };
};

const ONE: Planned = { all: 1, follower: 0, worker: 1 };

/** The replacement that an event asks for; undefined: it asks for none. */
export const replacing = (event: StoredEvent): OperationDoc | undefined => {
  const replacement = replacementIn(event);
  if (replacement === undefined) return undefined;
  const { node, requestId, order } = replacement;
  const course = order === 'create-first' ? 'replace-node' : 'replace-node-first';
  return { ...doc(event, course), requested: ONE, node, requestId };
};

/** A retry goes on where the failed operation stopped, with the steps that were done. */
export const retried = (event: Requested, failed: OperationDoc | undefined): OperationDoc => {
  const fresh = begun(event, 'create');
  if (failed === undefined) {
    const { time } = event.meta;
    return {
      ...fresh,
      kind: 'retry',
      phase: 'Succeeded',
      finishedAt: time,
      message: 'what has failed, or is missing, is tried again',
    };
  }
  const { course, stepsSince, marks, notes, requested, planSeqs, planned, requestId, node, retries } = failed;
  const { pool, machines, reserving } = failed;
  const kept = {
    ...{ course, stepsSince, marks, notes, requested, planSeqs, planned, requestId, node },
    ...(pool === undefined ? {} : { pool }),
    ...(machines === undefined ? {} : { machines }),
  };
  // What was passed of a request is checked again once it is corrected.
  const again =
    specIn(event) === undefined
      ? { ...(reserving === undefined ? {} : { reserving }) }
      : { marks: {}, requested: fresh.requested };
  return { ...fresh, ...kept, ...again, kind: 'retry', retries: retries + 1 };
};
