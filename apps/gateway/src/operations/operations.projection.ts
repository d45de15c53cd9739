import {
  sentenceOf,
  type ClusterUid,
  type EventData,
  type EventType,
  type OperationPhase,
  type StoredEvent,
} from '@fairlead/contracts';
import { actionRequestedIn, RESTORE_WORDS } from '@fairlead/domain';
import type { Projection } from '@fairlead/event-sourcing';
import { clusterKey } from '../common/cluster.address.js';
import { heldAfter, isAboutHeld, type HeldHooks } from '../lifecycle/held.hooks.js';
import {
  begun,
  isRequest,
  replacing,
  retried,
  type OperationDoc,
  type Requested,
  type StepFailure,
} from './operation.evolve.js';
import { actedAfter, COURSES, endOfActed, type ActionEvent } from './node.actions.evolve.js';
import { countPlanned } from './step.progress.js';

/** The operations of a cluster's present or last incarnation, oldest first. */
export interface OperationsDoc {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
  /** Of its ClusterRequested. Rows of earlier releases have none. */
  readonly requestedSeq?: number;
  readonly operations: readonly OperationDoc[];
  /** Hooks that hold a step; absent: none is declared. */
  readonly hooks?: NonNullable<HeldHooks>;
}

const OPERATIONS_MAX = 30;
const FAILURES_MAX = 20;

const isRetriable = (operation: OperationDoc): boolean =>
  (operation.phase === 'Failed' || operation.phase === 'Rejected') &&
  operation.isOver !== true &&
  (builds(operation) || operation.course === 'remove-node' || operation.course === 'replace-nodes');

/** What failed last goes on as another operation. */
const retry = (doc: OperationsDoc, event: Requested): OperationsDoc => {
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
  // The oldest that are over make room; the log keeps them permanently.
  const dropped = new Set(operations.filter((one) => !isRunning(one)).slice(0, Math.max(0, excess)));
  return { ...doc, operations: operations.filter((one) => !dropped.has(one)) };
};

/** The names of its machines matter while it runs, and to a retry. A row that kept them would be as large as the cluster. */
const ended =
  (phase: OperationPhase, time: string, why: Partial<Pick<OperationDoc, 'message' | 'reason' | 'failedStep'>> = {}) =>
  ({ machines, ...operation }: OperationDoc): OperationDoc => ({
    ...operation,
    ...(machines === undefined || phase !== 'Failed' ? {} : { machines }),
    ...why,
    phase,
    finishedAt: time,
  });

const replaces = ({ course }: OperationDoc): boolean => course === 'replace-node' || course === 'replace-node-first';
const builds = (operation: OperationDoc): boolean =>
  operation.course === 'create' || operation.course === 'add-nodes' || replaces(operation);
const deletes = ({ course }: OperationDoc): boolean => course === 'delete';
const removes =
  (node: string) =>
  (operation: OperationDoc): boolean =>
    operation.node === node;

const upgrades =
  (upgradeId: string) =>
  ({ course, requestId }: OperationDoc): boolean =>
    course === 'upgrade' && requestId === upgradeId;

const noteOf = (event: StoredEvent): string | undefined => {
  switch (event.type) {
    case 'LoadBalancerReady':
      return `${event.data.host}:${event.data.port}`;
    case 'ControlPlaneInitialized':
      return event.data.node;
    case 'NetworkReady':
      return `${event.data.cni} ${event.data.version}`;
    case 'EtcdSnapshotTaken':
      return event.data.snapshot;
    case 'UpgradeAbortRequested':
      return [`aborted by ${event.meta.actor}`, event.data.reason].filter(Boolean).join(': ');
    default:
      return undefined;
  }
};

const mark =
  (event: StoredEvent) =>
  (operation: OperationDoc): OperationDoc => {
    if (operation.marks[event.type] !== undefined) return operation;
    const note = noteOf(event);
    return {
      ...operation,
      marks: { ...operation.marks, [event.type]: event.meta.time },
      ...(note === undefined ? {} : { notes: { ...operation.notes, [event.type]: note } }),
    };
  };

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

const ETCD_COURSES = {
  EtcdSnapshotRequested: 'snapshot-etcd',
  EtcdSnapshotVerificationRequested: 'verify-snapshot',
  EtcdRestoreRequested: 'restore-etcd',
} as const satisfies Partial<Record<EventType, OperationDoc['course']>>;

const isAboutEtcd = ({ course }: OperationDoc): boolean => Object.values(ETCD_COURSES).some((one) => one === course);

const asksEtcd =
  (requestId: string | null) =>
  (operation: OperationDoc): boolean =>
    isAboutEtcd(operation) && operation.requestId === requestId;

/** Every request to verify a snapshot is answered by one verification of it. */
const verifies =
  (snapshot: string) =>
  (operation: OperationDoc): boolean =>
    operation.course === 'verify-snapshot' && operation.snapshot === snapshot;

/** Failures do not say of which request they are: all that could be, get them. Those of upgrades do. */
const couldBeOf =
  ({ node }: StepFailure) =>
  (operation: OperationDoc): boolean =>
    operation.course !== 'upgrade' &&
    operation.acted === undefined &&
    !isAboutEtcd(operation) &&
    (node === null || operation.node === null || operation.node === node || replaces(operation));

/** A request whose machines are all removed asks for nothing any longer. */
const withoutMachine = (doc: OperationsDoc, { meta, data }: StoredEvent<'NodeRemovalRequested'>): OperationsDoc =>
  mapRunning(
    doc,
    ({ machines }) => machines?.includes(data.node) === true,
    (operation) => {
      const machines = operation.machines?.filter((name) => name !== data.node) ?? [];
      const left = { ...operation, machines };
      if (machines.length > 0) return left;
      return ended('Superseded', meta.time, { message: 'all of its nodes are removed' })(left);
    },
  );

const begin = (doc: OperationsDoc, event: Requested): OperationsDoc => {
  switch (event.type) {
    case 'ClusterRequested':
      return add(doc, begun(event, 'create'));
    case 'ClusterRetryRequested':
      return retry(doc, event);
    case 'NodesRequested':
      return add(doc, begun(event, 'add-nodes'));
    case 'NodeRemovalRequested':
      return add(withoutMachine(doc, event), begun(event, 'remove-node'));
    case 'PoolRolloutRequested': {
      const { pool } = event.data;
      const why = { message: `the machine template of pool ${pool} was changed` };
      const superseded = mapRunning(doc, (one) => one.pool === pool, ended('Superseded', event.meta.time, why));
      return add(superseded, begun(event, 'replace-nodes'));
    }
    case 'NodeActionRequested':
    case 'DriftRepairRequested': {
      const action = actionRequestedIn(event);
      return action === undefined ? doc : add(doc, begun(event, COURSES[action.action]));
    }
    case 'UpgradeRequested':
      return add(doc, begun(event, 'upgrade'));
    case 'EtcdSnapshotRequested':
    case 'EtcdSnapshotVerificationRequested':
    case 'EtcdRestoreRequested':
      return add(doc, begun(event, ETCD_COURSES[event.type]));
    case 'ClusterDeletionRequested': {
      const superseded = mapRunning(
        doc,
        () => true,
        ended('Superseded', event.meta.time, { message: 'the cluster is being deleted' }),
      );
      const { message = '' } = event.data.failure ?? {};
      return add(superseded, { ...begun(event, 'delete'), message });
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

const ofRequest =
  (requestId: string) =>
  (operation: OperationDoc): boolean =>
    (operation.course === 'add-nodes' || operation.course === 'replace-nodes' || replaces(operation)) &&
    operation.requestId === requestId;

/** The request for nodes; without one, what is being created. */
const asksFor =
  (requestId: string | undefined) =>
  (operation: OperationDoc): boolean =>
    requestId === undefined ? builds(operation) && !replaces(operation) : ofRequest(requestId)(operation);

/** A request that was refused, and is met after all. */
const resumed = (doc: OperationsDoc, requestId: string | undefined): OperationsDoc => {
  const isMet = (one: OperationDoc): boolean =>
    one.phase === 'Failed' && one.isOver !== true && requestId !== undefined && ofRequest(requestId)(one);
  if (!doc.operations.some(isMet)) return doc;
  const running = { phase: 'Running', finishedAt: null, message: '', reason: '', failedStep: null } as const;
  return { ...doc, operations: doc.operations.map((one) => (isMet(one) ? { ...one, ...running } : one)) };
};

const planned: Advance<'VmsPlanned'> = (doc, event) =>
  mapRunning(resumed(doc, event.data.requestId), asksFor(event.data.requestId), (operation) => ({
    ...mark(event)(operation),
    planSeqs: [...operation.planSeqs, event.meta.seq],
    planned: countPlanned(operation.planned, event.data.machines),
    machines: [...(operation.machines ?? []), ...event.data.machines.map(({ name }) => name)],
  }));

const created: Advance<'VmsCreated'> = (doc, event) => {
  const names = new Set<string>(event.data.machines.map(({ name }) => name));
  const isOf = ({ machines }: OperationDoc): boolean => machines?.some((name) => names.has(name)) !== false;
  return mapRunning(doc, (operation) => builds(operation) && isOf(operation), mark(event));
};

/** Another request whose machines do not run yet goes on. */
const isBuilt = (operation: OperationDoc): boolean =>
  builds(operation) &&
  !replaces(operation) &&
  (operation.course === 'create' || operation.kind === 'retry' || operation.marks.VmsCreated !== undefined);

const rejected: Advance<'ClusterRejected' | 'NodesRejected'> = (doc, { meta, data }) => {
  const why = { reason: data.code, message: data.message };
  return mapRunning(doc, asksFor('requestId' in data ? data.requestId : undefined), ended('Rejected', meta.time, why));
};

const stepFailed: Advance<'InfrastructureStepFailed' | 'BootstrapStepFailed'> = (doc, event) => {
  const failure = failureOf(event);
  const withIt = mapRunning(doc, couldBeOf(failure), withFailure(failure));
  const { step, node, nextAttemptAt } = failure;
  if (step !== 'RemoveNode' || node === null || nextAttemptAt !== null) return withIt;
  const why = { message: sentenceOf(failure.cause), failedStep: step };
  return mapRunning(withIt, removes(node), ended('Failed', event.meta.time, why));
};

/** Why it failed, from the fact that says so. */
const whyOf = (data: EventData<'ClusterFailed' | 'VmsFailed' | 'NodesFailed'>) => ({
  message: sentenceOf(data.cause),
  reason: data.reason,
  failedStep: 'step' in data ? data.step : data.cause.operation,
});

/** Machines or nodes of a request failed. What was rolled back cannot be taken up. */
const requestFailed: Advance<'VmsFailed' | 'NodesFailed'> = (doc, { meta, data }) =>
  mapRunning(doc, ofRequest(data.requestId), (operation) => ({
    ...ended('Failed', meta.time, whyOf(data))(operation),
    ...(data.onFailure === 'rollback' ? { isOver: true as const } : {}),
  }));

const abandoned: Advance<'NodesAbandoned'> = (doc, { meta, data }) => {
  const over = doc.operations.map((one): OperationDoc =>
    ofRequest(data.requestId)(one) ? { ...one, isOver: true } : one,
  );
  const end =
    data.superseded === true
      ? ended('Superseded', meta.time, { message: `a newer request of ${meta.actor} asks for other nodes` })
      : ended('Failed', meta.time, { message: 'The request for nodes was given up' });
  return mapRunning({ ...doc, operations: over }, ofRequest(data.requestId), end);
};

/** Addons come one after the other. */
const addonInstalled: Advance<'AddonInstalled'> = (doc, { data: { addon } }) =>
  mapRunning(doc, builds, (operation) => {
    const { AddonInstalled: known } = operation.notes;
    if (known?.split(', ').includes(addon) === true) return operation;
    return {
      ...operation,
      notes: { ...operation.notes, AddonInstalled: known === undefined ? addon : `${known}, ${addon}` },
    };
  });

/** The second of the two facts ends it: the old node is gone, and the new one is part of the cluster. */
const replaced =
  (which: (operation: OperationDoc) => boolean, other: EventType): Advance =>
  (doc, event) => {
    const isOfIt = (operation: OperationDoc): boolean => replaces(operation) && which(operation);
    const isLast = (operation: OperationDoc): boolean => isOfIt(operation) && operation.marks[other] !== undefined;
    return succeeds(isLast)(marks(isOfIt)(doc, event), event);
  };

const machineDeleted: Advance<'VmDeleted'> = (doc, event) => {
  const isOfIt = removes(event.data.name);
  const counted = mapRunning(doc, deletes, (operation) => ({ ...operation, deleted: operation.deleted + 1 }));
  const removed = succeeds((operation) => isOfIt(operation) && !replaces(operation))(counted, event);
  return replaced(isOfIt, 'NodeReplacementReady')(removed, event);
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
    // Of one that has waited, it is known no longer why.
    const marked = { ...mark(event)(operation), message: '' };
    return isDryRun ? ended('Succeeded', event.meta.time, { message: 'dry run: nothing is changed' })(marked) : marked;
  });
};

const withHeldBack =
  (nodes: EventData<'PoolRolloutCompleted'>['heldBack']) =>
  (operation: OperationDoc): OperationDoc => ({
    ...operation,
    message: `held back: ${nodes.map(({ node, reason }) => `${node} (${reason})`).join(', ')}`,
  });

const acted: Advance<ActionEvent['type']> = (doc, event) =>
  mapRunning(
    doc,
    ({ acted: nodes, requestId }) => nodes !== undefined && requestId === event.data.requestId,
    (operation) => {
      const nodes = actedAfter(operation.acted ?? {}, event as ActionEvent);
      const after = { ...operation, acted: nodes };
      const end = endOfActed(nodes);
      return end === undefined ? after : ended(end.phase, event.meta.time, { message: end.message })(after);
    },
  );

const etcdFailed: Advance<'EtcdSnapshotFailed' | 'EtcdRestoreFailed'> = (doc, { meta, data }) =>
  mapRunning(doc, asksEtcd(data.requestId), ended('Failed', meta.time, { message: sentenceOf(data.cause) }));

/** A restore that is undone says why. */
const restoreAdvanced: Advance<'EtcdRestoreAdvanced'> = (doc, { data: { requestId, step, cause } }) => {
  const note = `${RESTORE_WORDS[step]}${cause === null ? '' : `: ${sentenceOf(cause)}`}`;
  return mapRunning(doc, asksEtcd(requestId), (operation) => ({
    ...operation,
    notes: { ...operation.notes, EtcdRestoreAdvanced: note },
  }));
};

const snapshotDeleted: Advance<'EtcdSnapshotDeleted'> = (doc, { meta, data }) =>
  mapRunning(doc, verifies(data.snapshot), ended('Failed', meta.time, { message: 'the snapshot was deleted' }));

/** Machines are reserved before they are requested, on each connection that asks for it. */
const clusterAccepted: Advance<'ClusterAccepted'> = (doc, event) => {
  const { reserves = [] } = event.data.waits ?? {};
  const reserving = reserves.length === 0 ? {} : { reserving: reserves };
  return mapRunning(doc, builds, (operation) => ({ ...mark(event)(operation), ...reserving }));
};

/** The step ends with the last reservation that begins. */
const reservationActivated: Advance<'ReservationActivated'> = (doc, event) =>
  mapRunning(doc, builds, (operation) => {
    const reserving = operation.reserving?.filter((connection) => connection !== event.data.connection) ?? [];
    return reserving.length === 0 ? mark(event)({ ...operation, reserving }) : { ...operation, reserving };
  });

/** How each event moves the operations on; those that are not here concern none. */
const ADVANCES: { readonly [T in EventType]?: Advance<T> } = {
  VmsPlanned: planned,
  ClusterAccepted: clusterAccepted,
  ReservationActivated: reservationActivated,
  IdentityRequested: marks(builds),
  IdentityReady: marks(builds),
  VmsCreated: created,
  LoadBalancerReady: marks(builds),
  ControlPlaneInitialized: marks(builds),
  NetworkReady: marks(builds),
  ControlPlaneReady: marks(builds),
  ClusterReady: succeeds(isBuilt),
  PoolRolloutCompleted: (doc, event) => {
    const { requestId, heldBack } = event.data;
    const done = heldBack.length === 0 ? doc : mapRunning(doc, ofRequest(requestId), withHeldBack(heldBack));
    return succeeds(ofRequest(requestId))(done, event);
  },
  PoolRolloutFailed: (doc, { meta, data }) =>
    mapRunning(doc, ofRequest(data.requestId), ended('Failed', meta.time, { message: sentenceOf(data.cause) })),
  NodeReplacementReady: (doc, event) => replaced(ofRequest(event.data.requestId), 'VmDeleted')(doc, event),
  ClusterRejected: rejected,
  NodesRejected: rejected,
  ClusterFailed: (doc, { meta, data }) => mapRunning(doc, builds, ended('Failed', meta.time, whyOf(data))),
  VmsFailed: requestFailed,
  NodesFailed: requestFailed,
  NodesAbandoned: abandoned,
  VmDeletionFailed: notDeleted,
  InfrastructureStepFailed: stepFailed,
  BootstrapStepFailed: stepFailed,
  NodeRemovalCancelled: (doc, { meta, data }) =>
    mapRunning(doc, removes(data.node), ended('Cancelled', meta.time, { message: 'the node stays' })),
  NodeDrained: (doc, event) => marks(removes(event.data.node))(doc, event),
  NodeRemoved: (doc, event) => marks(removes(event.data.node))(doc, event),
  VmDeleted: machineDeleted,
  AddonInstalled: addonInstalled,
  ClusterDismantled: marks(deletes),
  LoadBalancerDeleted: marks(deletes),
  InfrastructureDeleted: marks(deletes),
  ClusterDeleted: succeeds(deletes),
  UpgradePlanned: upgradePlanned,
  UpgradeRejected: (doc, { meta, data }) => {
    const message = data.findings.map(({ sentence }) => sentence).join('; ');
    return mapRunning(doc, upgrades(data.upgradeId), ended('Rejected', meta.time, { message }));
  },
  RolloutStarted: (doc, event) => marks(upgrades(event.data.upgradeId))(doc, event),
  RolloutCompleted: (doc, event) => succeeds(upgrades(event.data.upgradeId))(doc, event),
  UpgradeWaiting: (doc, { data }) => {
    const message = `it waits: ${data.findings.map(({ sentence }) => sentence).join('; ')}`;
    return mapRunning(doc, upgrades(data.upgradeId), (operation) => ({ ...operation, message }));
  },
  UpgradeAbortRequested: (doc, event) => marks(upgrades(event.data.upgradeId))(doc, event),
  RolloutAborted: (doc, { meta, data }) => {
    const end = data.supersededBy === undefined ? 'Failed' : 'Superseded';
    const messageOf = ({ notes }: OperationDoc): string =>
      data.supersededBy === undefined
        ? (notes.UpgradeAbortRequested ?? 'it was aborted')
        : 'another version was declared';
    return mapRunning(doc, upgrades(data.upgradeId), (operation) =>
      ended(end, meta.time, { message: messageOf(operation) })(operation),
    );
  },
  NodeActionStarted: acted,
  NodeActionPostponed: acted,
  NodeActionHookBlocked: acted,
  NodeActionHookSucceeded: acted,
  NodeActionHookFailed: acted,
  HookSkipped: acted,
  NodeActionCordoned: acted,
  NodeActionEvictionRefused: acted,
  NodeActionDrained: acted,
  NodeActionSucceeded: acted,
  NodeActionFailed: acted,
  NodeActionVoided: acted,
  EtcdSnapshotTaken: (doc, event) => succeeds(asksEtcd(event.data.requestId))(doc, event),
  EtcdSnapshotFailed: etcdFailed,
  EtcdSnapshotVerified: (doc, event) => succeeds(verifies(event.data.snapshot))(doc, event),
  EtcdSnapshotVerificationFailed: (doc, { meta, data }) =>
    mapRunning(doc, verifies(data.snapshot), ended('Failed', meta.time, { message: sentenceOf(data.cause) })),
  EtcdSnapshotDeleted: snapshotDeleted,
  EtcdRestoreStarted: (doc, event) => marks(asksEtcd(event.data.requestId))(doc, event),
  EtcdRestoreAdvanced: restoreAdvanced,
  EtcdRestored: (doc, event) => succeeds(asksEtcd(event.data.requestId))(doc, event),
  EtcdRestoreFailed: etcdFailed,
  OperationFailed: (doc, event) => mapRunning(doc, upgrades(event.data.upgradeId), withFailure(failureOf(event))),
};

/** The compiler does not see that an event's type chooses the function for that very type. */
const advanceOf = (event: StoredEvent): Advance | undefined => ADVANCES[event.type] as Advance | undefined;

const withHeld = (doc: OperationsDoc, event: StoredEvent): OperationsDoc => {
  const { hooks: before, ...others } = doc;
  const hooks = heldAfter(before, event);
  if (hooks === before) return doc;
  return hooks === undefined ? others : { ...others, hooks };
};

/** One row per cluster name. It outlives the cluster, so that the end of a deletion can be seen; a new cluster starts it again. */
export const operationsProjection: Projection<OperationsDoc> = {
  name: 'operations',
  table: 'operations',

  keys: (event) =>
    isRequest(event) || replacing(event) !== undefined || advanceOf(event) !== undefined || isAboutHeld(event)
      ? [clusterKey(event.meta.namespace, event.meta.cluster)]
      : [],

  evolve: (doc, event) => {
    if (event.type === 'ClusterRequested') {
      const { namespace, cluster } = event.meta;
      const { uid } = event.data;
      return begin({ namespace, cluster, uid, requestedSeq: event.meta.seq, operations: [] }, event);
    }
    if (doc === undefined || !('uid' in event.data) || event.data.uid !== doc.uid) return doc;
    const held = withHeld(doc, event);
    if (isRequest(event)) return begin(held, event);
    const replacement = replacing(event);
    // One event may ask for a replacement and be a fact about other operations, too.
    const advanced = advanceOf(event)?.(held, event) ?? held;
    return replacement === undefined ? advanced : add(advanced, replacement);
  },
};
