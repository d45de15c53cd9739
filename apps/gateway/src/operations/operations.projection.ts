import {
  sentenceOf,
  type Cause,
  type ClusterUid,
  type EventType,
  type OperationKind,
  type OperationPhase,
  type StoredEvent,
} from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { clusterKey } from '../clusters/clusters.projection.js';
import { countPlanned } from './passed.js';
import type { Planned } from './steps.js';

interface StepFailure {
  readonly at: string;
  readonly step: string;
  readonly node: string | null;
  readonly cause: Cause;
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly nextAttemptAt: string | null;
}

/** What became of one wish. */
export interface OperationDoc {
  /** Id of the event that is the wish. */
  readonly id: string;
  readonly kind: OperationKind;
  /** What is done: for a retry, what is done again. */
  readonly course: Exclude<OperationKind, 'retry'>;
  readonly phase: OperationPhase;
  readonly actor: string;
  readonly startedAt: string;
  /** When the steps began: for a retry, when the first attempt did. */
  readonly stepsSince: string;
  readonly finishedAt: string | null;
  readonly marks: { readonly [T in EventType]?: string };
  /** The nodes of these plans are the operation's. */
  readonly planSeqs: readonly number[];
  readonly planned: Planned;
  readonly node: string | null;
  readonly requestId: string | null;
  readonly failures: readonly StepFailure[];
  readonly failuresTotal: number;
  readonly message: string;
  /** It failed, and a retry does not take it up: it was rolled back, given up, or taken up already. */
  readonly isOver?: true;
}

/** The operations of a cluster's present or last incarnation, oldest first. */
export interface OperationsDoc {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
  /** Of its ClusterRequested. Rows of earlier releases have none. */
  readonly requestedSeq?: number;
  readonly operations: readonly OperationDoc[];
}

const OPERATIONS_MAX = 30;
const FAILURES_MAX = 20;

const WISHES = [
  'ClusterRequested',
  'ClusterRetryRequested',
  'ClusterDeletionRequested',
  'NodesRequested',
  'NodeRemovalRequested',
  'UpgradeRequested',
] as const satisfies readonly EventType[];
type Wish = StoredEvent<(typeof WISHES)[number]>;

const isWish = (event: StoredEvent): event is Wish => WISHES.some((type) => type === event.type);

const NONE_PLANNED: Planned = { all: 0, follower: 0, worker: 0 };

const requestIdOf = (event: Wish): string | null => {
  if (event.type === 'UpgradeRequested') return event.data.upgradeId;
  return event.type === 'NodesRequested' ? event.data.requestId : null;
};

const begun = (event: Wish, kind: Exclude<OperationKind, 'retry'>): OperationDoc => ({
  id: event.meta.id,
  kind,
  course: kind,
  phase: 'Running',
  actor: event.meta.actor,
  startedAt: event.meta.time,
  stepsSince: event.meta.time,
  finishedAt: null,
  marks: {},
  planSeqs: [],
  planned: NONE_PLANNED,
  node: event.type === 'NodeRemovalRequested' ? event.data.node : null,
  requestId: requestIdOf(event),
  failures: [],
  failuresTotal: 0,
  message: '',
});

/** A retry goes on where the failed operation stopped, with the steps that were done. */
const retried = (event: Wish, failed: OperationDoc | undefined): OperationDoc => {
  const fresh = begun(event, 'create');
  if (failed === undefined) {
    const { time } = event.meta;
    return { ...fresh, kind: 'retry', phase: 'Succeeded', finishedAt: time, message: 'deletions are tried again' };
  }
  const { course, stepsSince, marks, planSeqs, planned, requestId, node } = failed;
  return { ...fresh, kind: 'retry', course, stepsSince, marks, planSeqs, planned, requestId, node };
};

const isRetriable = (operation: OperationDoc): boolean =>
  operation.phase === 'Failed' &&
  operation.isOver !== true &&
  (builds(operation) || operation.course === 'remove-node');

/** What failed last goes on as another operation. */
const retry = (doc: OperationsDoc, event: Wish): OperationsDoc => {
  const failed = doc.operations.findLast(isRetriable);
  const operations = doc.operations.map((one): OperationDoc => (one === failed ? { ...one, isOver: true } : one));
  return add({ ...doc, operations }, retried(event, failed));
};

const isRunning = (operation: OperationDoc): boolean => operation.phase === 'Running';

const mapRunning = (
  doc: OperationsDoc,
  which: (operation: OperationDoc) => boolean,
  change: (operation: OperationDoc) => OperationDoc,
): OperationsDoc => {
  if (!doc.operations.some((operation) => isRunning(operation) && which(operation))) return doc;
  return {
    ...doc,
    operations: doc.operations.map((operation) =>
      isRunning(operation) && which(operation) ? change(operation) : operation,
    ),
  };
};

const add = (doc: OperationsDoc, operation: OperationDoc): OperationsDoc => {
  const operations = [...doc.operations, operation];
  const excess = operations.length - OPERATIONS_MAX;
  // The oldest that are over make room; the log has them for ever.
  const dropped = new Set(operations.filter((one) => !isRunning(one)).slice(0, Math.max(0, excess)));
  return { ...doc, operations: operations.filter((one) => !dropped.has(one)) };
};

const ended =
  (phase: OperationPhase, time: string, message = '') =>
  (operation: OperationDoc): OperationDoc => ({ ...operation, phase, finishedAt: time, message });

const builds = ({ course }: OperationDoc): boolean => course === 'create' || course === 'add-nodes';
const deletes = ({ course }: OperationDoc): boolean => course === 'delete';
const removes =
  (node: string) =>
  (operation: OperationDoc): boolean =>
    operation.node === node;

const upgrades =
  (upgradeId: string) =>
  ({ course, requestId }: OperationDoc): boolean =>
    course === 'upgrade' && requestId === upgradeId;

const mark =
  (event: StoredEvent) =>
  (operation: OperationDoc): OperationDoc =>
    operation.marks[event.type] === undefined
      ? { ...operation, marks: { ...operation.marks, [event.type]: event.meta.time } }
      : operation;

const failureOf = (
  event: StoredEvent<'InfrastructureStepFailed' | 'BootstrapStepFailed' | 'OperationFailed'>,
): StepFailure => {
  const { cause, attempt, attemptsMax, nextAttemptAt } = event.data;
  return {
    at: event.meta.time,
    step: event.type === 'OperationFailed' ? event.data.operation : event.data.step,
    node: event.type === 'InfrastructureStepFailed' ? null : (event.data.node ?? null),
    cause,
    attempt,
    attemptsMax,
    nextAttemptAt,
  };
};

const withFailure =
  (failure: StepFailure) =>
  (operation: OperationDoc): OperationDoc => ({
    ...operation,
    failures: [...operation.failures, failure].slice(-FAILURES_MAX),
    failuresTotal: operation.failuresTotal + 1,
  });

/** Failures do not say of which wish they are: all that could be, get them. Those of upgrades do. */
const couldBeOf =
  ({ node }: StepFailure) =>
  (operation: OperationDoc): boolean =>
    operation.course !== 'upgrade' && (node === null || operation.node === null || operation.node === node);

const begin = (doc: OperationsDoc, event: Wish): OperationsDoc => {
  switch (event.type) {
    case 'ClusterRequested':
      return add(doc, begun(event, 'create'));
    case 'ClusterRetryRequested':
      return retry(doc, event);
    case 'NodesRequested':
      return add(doc, begun(event, 'add-nodes'));
    case 'NodeRemovalRequested':
      return add(doc, begun(event, 'remove-node'));
    case 'UpgradeRequested':
      return add(doc, begun(event, 'upgrade'));
    case 'ClusterDeletionRequested': {
      const superseded = mapRunning(
        doc,
        () => true,
        ended('Superseded', event.meta.time, 'the cluster is being deleted'),
      );
      return add(superseded, begun(event, 'delete'));
    }
  }
};

type Advance<T extends EventType = EventType> = (doc: OperationsDoc, event: StoredEvent<T>) => OperationsDoc;

const marks =
  (which: (operation: OperationDoc) => boolean): Advance =>
  (doc, event) =>
    mapRunning(doc, which, mark(event));

const succeeds =
  (which: (operation: OperationDoc) => boolean): Advance =>
  (doc, event) =>
    mapRunning(doc, which, (operation) => ended('Succeeded', event.meta.time)(mark(event)(operation)));

const planned: Advance<'VmsPlanned'> = (doc, event) =>
  mapRunning(doc, builds, (operation) => ({
    ...mark(event)(operation),
    planSeqs: [...operation.planSeqs, event.meta.seq],
    planned: countPlanned(operation.planned, event.data.machines),
  }));

const rejected: Advance<'ClusterRejected' | 'NodesRejected'> = (doc, { meta, data }) =>
  mapRunning(doc, builds, ended('Failed', meta.time, data.message));

const stepFailed: Advance<'InfrastructureStepFailed' | 'BootstrapStepFailed'> = (doc, event) => {
  const failure = failureOf(event);
  const told = mapRunning(doc, couldBeOf(failure), withFailure(failure));
  const { step, node, nextAttemptAt } = failure;
  if (step !== 'RemoveNode' || node === null || nextAttemptAt !== null) return told;
  return mapRunning(told, removes(node), ended('Failed', event.meta.time, sentenceOf(failure.cause)));
};

const ofRequest =
  (requestId: string) =>
  (operation: OperationDoc): boolean =>
    operation.course === 'add-nodes' && operation.requestId === requestId;

/** Machines or nodes of a request failed. What was rolled back cannot be taken up. */
const requestFailed: Advance<'VmsFailed' | 'NodesFailed'> = (doc, { meta, data }) =>
  mapRunning(doc, ofRequest(data.requestId), (operation) => ({
    ...ended('Failed', meta.time, sentenceOf(data.cause))(operation),
    ...(data.onFailure === 'rollback' ? { isOver: true as const } : {}),
  }));

const abandoned: Advance<'NodesAbandoned'> = (doc, { meta, data }) => {
  const over = doc.operations.map((one): OperationDoc =>
    ofRequest(data.requestId)(one) ? { ...one, isOver: true } : one,
  );
  return mapRunning(
    { ...doc, operations: over },
    ofRequest(data.requestId),
    ended('Failed', meta.time, 'it was given up'),
  );
};

/** It stays under way: the deletion is tried again. */
const notDeleted: Advance<'VmDeletionFailed'> = (doc, { meta, data }) => {
  const { cause, attempt, nextAttemptAt, machines } = data;
  const failure = {
    at: meta.time,
    step: cause.operation,
    node: null,
    cause,
    attempt,
    attemptsMax: attempt,
    nextAttemptAt,
  };
  const isOfIt = (operation: OperationDoc): boolean =>
    deletes(operation) || machines.some((name) => removes(name)(operation));
  return mapRunning(doc, isOfIt, withFailure(failure));
};

const upgradePlanned: Advance<'UpgradePlanned'> = (doc, event) => {
  const { upgradeId, mode } = event.data;
  const isDryRun = mode === 'dry-run';
  return mapRunning(doc, upgrades(upgradeId), (operation) => {
    const marked = mark(event)(operation);
    return isDryRun ? ended('Succeeded', event.meta.time, 'the plan was asked for, and nothing else')(marked) : marked;
  });
};

/** How each event moves the operations on; those that are not here concern none. */
const ADVANCES: { readonly [T in EventType]?: Advance<T> } = {
  VmsPlanned: planned,
  ClusterAccepted: marks(builds),
  VmsCreated: marks(builds),
  LoadBalancerReady: marks(builds),
  ControlPlaneInitialized: marks(builds),
  NetworkReady: marks(builds),
  ControlPlaneReady: marks(builds),
  ClusterReady: succeeds(builds),
  ClusterRejected: rejected,
  NodesRejected: rejected,
  ClusterFailed: (doc, { meta, data }) => mapRunning(doc, builds, ended('Failed', meta.time, sentenceOf(data.cause))),
  VmsFailed: requestFailed,
  NodesFailed: requestFailed,
  NodesAbandoned: abandoned,
  VmDeletionFailed: notDeleted,
  InfrastructureStepFailed: stepFailed,
  BootstrapStepFailed: stepFailed,
  NodeDrained: (doc, event) => marks(removes(event.data.node))(doc, event),
  NodeRemoved: (doc, event) => marks(removes(event.data.node))(doc, event),
  VmDeleted: (doc, event) => succeeds(removes(event.data.name))(doc, event),
  ClusterDismantled: marks(deletes),
  LoadBalancerDeleted: marks(deletes),
  ClusterDeleted: succeeds(deletes),
  UpgradePlanned: upgradePlanned,
  UpgradeRejected: (doc, { meta, data }) => {
    const message = data.findings.map(({ sentence }) => sentence).join('; ');
    return mapRunning(doc, upgrades(data.upgradeId), ended('Failed', meta.time, message));
  },
  RolloutStarted: (doc, event) => marks(upgrades(event.data.upgradeId))(doc, event),
  RolloutCompleted: (doc, event) => succeeds(upgrades(event.data.upgradeId))(doc, event),
  RolloutAborted: (doc, { meta, data }) =>
    mapRunning(doc, upgrades(data.upgradeId), ended('Failed', meta.time, 'it was aborted')),
  OperationFailed: (doc, event) => mapRunning(doc, upgrades(event.data.upgradeId), withFailure(failureOf(event))),
};

/** The compiler does not see that an event's type chooses the function for that very type. */
const advanceOf = (event: StoredEvent): Advance | undefined => ADVANCES[event.type] as Advance | undefined;

/** One row per cluster name. It outlives the cluster, so that the end of a deletion can be seen; a new cluster starts it anew. */
export const operationsProjection: Projection<OperationsDoc> = {
  name: 'operations',
  table: 'operations',

  keys: (event) =>
    isWish(event) || advanceOf(event) !== undefined ? [clusterKey(event.meta.namespace, event.meta.cluster)] : [],

  evolve: (doc, event) => {
    if (event.type === 'ClusterRequested') {
      const { namespace, cluster } = event.meta;
      const { uid } = event.data;
      return begin({ namespace, cluster, uid, requestedSeq: event.meta.seq, operations: [] }, event);
    }
    if (doc === undefined || !('uid' in event.data) || event.data.uid !== doc.uid) return doc;
    return isWish(event) ? begin(doc, event) : (advanceOf(event)?.(doc, event) ?? doc);
  },
};
