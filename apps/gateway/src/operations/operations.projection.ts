import {
  sentenceOf,
  type Cause,
  type ClusterUid,
  type EventType,
  type OperationKind,
  type OperationPhase,
  type OperationView,
  type StoredEvent,
} from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { clusterKey } from '../clusters/clusters.projection.js';
import { countPlanned } from './passed.js';
import { currentStepOf, stepViews, type PassedOf, type Planned } from './steps.js';

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
}

/** The operations of a cluster's present or last incarnation, oldest first. */
export interface OperationsDoc {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
  readonly operations: readonly OperationDoc[];
}

const OPERATIONS_MAX = 30;
const FAILURES_MAX = 20;

type Wish = StoredEvent<
  | 'ClusterRequested'
  | 'ClusterRetryRequested'
  | 'ClusterDeletionRequested'
  | 'NodesRequested'
  | 'NodeRemovalRequested'
  | 'UpgradeRequested'
>;

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
  if (failed === undefined) return { ...fresh, kind: 'retry' };
  const { course, stepsSince, marks, planSeqs, planned, requestId } = failed;
  return { ...fresh, kind: 'retry', course, stepsSince, marks, planSeqs, planned, requestId };
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

const failed = (event: StoredEvent<'InfrastructureStepFailed' | 'BootstrapStepFailed'>): StepFailure => ({
  at: event.meta.time,
  step: event.data.step,
  node: event.type === 'BootstrapStepFailed' ? (event.data.node ?? null) : null,
  cause: event.data.cause,
  attempt: event.data.attempt,
  attemptsMax: event.data.attemptsMax,
  nextAttemptAt: event.data.nextAttemptAt,
});

const failedOperation = ({ meta, data }: StoredEvent<'OperationFailed'>): StepFailure => ({
  at: meta.time,
  step: data.operation,
  node: data.node,
  cause: data.cause,
  attempt: data.attempt,
  attemptsMax: data.attemptsMax,
  nextAttemptAt: data.nextAttemptAt,
});

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

const noteFailure = (doc: OperationsDoc, failure: StepFailure): OperationsDoc =>
  mapRunning(doc, couldBeOf(failure), withFailure(failure));

const planned = (doc: OperationsDoc, event: StoredEvent<'VmsPlanned'>): OperationsDoc => {
  const { seq } = event.meta;
  return mapRunning(doc, builds, (operation) => ({
    ...mark(event)(operation),
    planSeqs: [...operation.planSeqs, seq],
    planned: countPlanned(operation.planned, event.data.machines),
  }));
};

const begin = (doc: OperationsDoc, event: Wish): OperationsDoc => {
  switch (event.type) {
    case 'ClusterRequested':
      return add(doc, begun(event, 'create'));
    case 'ClusterRetryRequested':
      return add(
        doc,
        retried(
          event,
          doc.operations.findLast((one) => one.phase === 'Failed' && builds(one)),
        ),
      );
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

const advanceUpgrade = (doc: OperationsDoc, event: StoredEvent): OperationsDoc => {
  const { time } = event.meta;
  switch (event.type) {
    case 'UpgradePlanned': {
      const { upgradeId, mode } = event.data;
      const planned = mode === 'dry-run' ? ended('Succeeded', time, 'the plan was asked for, and nothing else') : same;
      return mapRunning(doc, upgrades(upgradeId), (operation) => planned(mark(event)(operation)));
    }
    case 'RolloutStarted':
      return mapRunning(doc, upgrades(event.data.upgradeId), mark(event));
    case 'RolloutCompleted':
      return mapRunning(doc, upgrades(event.data.upgradeId), (one) => ended('Succeeded', time)(mark(event)(one)));
    case 'UpgradeRejected': {
      const { upgradeId, findings } = event.data;
      const message = findings.map(({ sentence }) => sentence).join('; ');
      return mapRunning(doc, upgrades(upgradeId), ended('Failed', time, message));
    }
    case 'RolloutAborted':
      return mapRunning(doc, upgrades(event.data.upgradeId), ended('Failed', time, 'it was aborted'));
    case 'OperationFailed':
      return mapRunning(doc, upgrades(event.data.upgradeId), withFailure(failedOperation(event)));
    default:
      return doc;
  }
};

const same = (operation: OperationDoc): OperationDoc => operation;

const advance = (doc: OperationsDoc, event: StoredEvent): OperationsDoc => {
  const { time } = event.meta;
  switch (event.type) {
    case 'VmsPlanned':
      return planned(doc, event);
    case 'ClusterAccepted':
    case 'VmsCreated':
    case 'LoadBalancerReady':
    case 'ControlPlaneInitialized':
    case 'NetworkReady':
    case 'ControlPlaneReady':
      return mapRunning(doc, builds, mark(event));
    case 'ClusterReady':
      return mapRunning(doc, builds, (operation) => ended('Succeeded', time)(mark(event)(operation)));
    case 'ClusterRejected':
    case 'NodesRejected':
      return mapRunning(doc, builds, ended('Failed', time, event.data.message));
    case 'ClusterFailed':
      return mapRunning(doc, builds, ended('Failed', time, sentenceOf(event.data.cause)));
    case 'InfrastructureStepFailed':
    case 'BootstrapStepFailed':
      return noteFailure(doc, failed(event));
    case 'NodeDrained':
    case 'NodeRemoved':
      return mapRunning(doc, removes(event.data.node), mark(event));
    case 'VmDeleted':
      return mapRunning(doc, removes(event.data.name), (one) => ended('Succeeded', time)(mark(event)(one)));
    case 'ClusterDismantled':
    case 'LoadBalancerDeleted':
      return mapRunning(doc, deletes, mark(event));
    case 'ClusterDeleted':
      return mapRunning(doc, deletes, (operation) => ended('Succeeded', time)(mark(event)(operation)));
    default:
      return advanceUpgrade(doc, event);
  }
};

const isWish = (event: StoredEvent): event is Wish =>
  event.type === 'ClusterRequested' ||
  event.type === 'ClusterRetryRequested' ||
  event.type === 'ClusterDeletionRequested' ||
  event.type === 'NodesRequested' ||
  event.type === 'NodeRemovalRequested' ||
  event.type === 'UpgradeRequested';

const ADVANCING: ReadonlySet<string> = new Set<EventType>([
  'VmsPlanned',
  'ClusterAccepted',
  'VmsCreated',
  'LoadBalancerReady',
  'ControlPlaneInitialized',
  'NetworkReady',
  'ControlPlaneReady',
  'ClusterReady',
  'ClusterRejected',
  'NodesRejected',
  'ClusterFailed',
  'InfrastructureStepFailed',
  'BootstrapStepFailed',
  'NodeDrained',
  'NodeRemoved',
  'VmDeleted',
  'ClusterDismantled',
  'LoadBalancerDeleted',
  'ClusterDeleted',
  'UpgradePlanned',
  'UpgradeRejected',
  'RolloutStarted',
  'RolloutCompleted',
  'RolloutAborted',
  'OperationFailed',
]);

/** One row per cluster name. It outlives the cluster, so that the end of a deletion can be seen; a new cluster starts it anew. */
export const operationsProjection: Projection<OperationsDoc> = {
  name: 'operations',
  table: 'operations',

  keys: (event) =>
    isWish(event) || ADVANCING.has(event.type) ? [clusterKey(event.meta.namespace, event.meta.cluster)] : [],

  evolve: (doc, event) => {
    if (event.type === 'ClusterRequested') {
      const { namespace, cluster } = event.meta;
      return begin({ namespace, cluster, uid: event.data.uid, operations: [] }, event);
    }
    if (doc === undefined || !('uid' in event.data) || event.data.uid !== doc.uid) return doc;
    return isWish(event) ? begin(doc, event) : advance(doc, event);
  },
};

/** `passedOf` counts the nodes of the operation; `nodes` are their names. */
export const operationView = (
  uid: string,
  doc: OperationDoc,
  nodes: readonly string[],
  passedOf: PassedOf,
): OperationView => {
  const steps = stepViews(
    {
      kind: doc.course,
      phase: doc.phase,
      startedAt: doc.stepsSince,
      finishedAt: doc.finishedAt,
      marks: doc.marks,
      planned: doc.planned,
    },
    passedOf,
  );
  return {
    id: doc.id,
    kind: doc.kind,
    phase: doc.phase,
    uid,
    actor: doc.actor,
    startedAt: doc.startedAt,
    finishedAt: doc.finishedAt,
    durationMs: doc.finishedAt === null ? null : Date.parse(doc.finishedAt) - Date.parse(doc.startedAt),
    nodes: doc.node === null ? [...nodes] : [doc.node],
    currentStep: currentStepOf(steps)?.name ?? null,
    steps: [...steps],
    failures: doc.failures.map((failure) => ({ ...failure, sentence: sentenceOf(failure.cause) })),
    failuresTotal: doc.failuresTotal,
    message: doc.message,
  };
};
