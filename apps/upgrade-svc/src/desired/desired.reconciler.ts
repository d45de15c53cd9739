import {
  type ClusterUid,
  type EventData,
  type Machine,
  type NodeName,
  type SoftwareVersions,
  type StoredEvent,
} from '@fairlead/contracts';
import { nothing, type Decider, type Reconciler, type Task } from '@fairlead/event-sourcing';

/** The state that determines the software of a cluster's nodes. */
export type Desired =
  | { readonly status: 'none' }
  | {
      readonly status: 'desired';
      readonly uid: ClusterUid;
      /** The version of the control planes: the requested one, then the one after an upgrade. */
      readonly version: string;
      /** Operations of the current plan after which the control planes have another version. */
      readonly coming: Readonly<Record<string, string>>;
      /** Additional software of surge nodes: by the operations that request them, and of the current surges. */
      readonly bookings: Readonly<Record<string, SoftwareVersions>>;
      readonly surges: Readonly<Record<string, SoftwareVersions>>;
      /** Pools whose nodes an upgrade replaces: the version and additional software of new ones. Absent: none. */
      readonly replaced?: Readonly<Record<string, { readonly version: string; readonly software: SoftwareVersions }>>;
      /** Nodes with a permission of an earlier release, which neither expires nor belongs to an upgrade. */
      readonly inTheMaking: readonly NodeName[];
      /** Nodes that could not join and were kept: their agents keep their permission for a retry. */
      readonly kept: readonly NodeName[];
      /** New machines without desired versions, by the event that created them. */
      readonly unset: Readonly<Record<string, Batch>>;
      /** Nodes of a cluster that became Ready whose agents still have their permission, by that event. */
      readonly made: Readonly<Record<string, readonly NodeName[]>>;
    };

interface Batch {
  readonly nodes: readonly NodeName[];
  /** The version whose release determines their software. */
  readonly version: string;
  /** Additional software of surge nodes. */
  readonly software: SoftwareVersions;
}

/** Data of the task: set the software of this version on these nodes. */
export interface SetDesired extends Batch {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
}

/** Data of the task: these nodes are created, and from now on only upgrades may change them. */
export interface WithdrawPermissions {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly nodes: readonly NodeName[];
}

type KnownDesired = Extract<Desired, { readonly status: 'desired' }>;

type NodesByRevision = Readonly<Record<string, readonly NodeName[]>>;

const without = (nodes: readonly NodeName[], gone: NodeName): readonly NodeName[] =>
  nodes.filter((name) => name !== gone);

const unsetWithout = ({ unset }: KnownDesired, gone: NodeName): KnownDesired['unset'] =>
  Object.fromEntries(
    Object.entries(unset)
      .map(([id, batch]) => [id, { ...batch, nodes: without(batch.nodes, gone) }] as const)
      .filter(([, { nodes }]) => nodes.length > 0),
  );

const madeWithout = ({ made }: KnownDesired, gone: NodeName): NodesByRevision =>
  Object.fromEntries(
    Object.entries(made)
      .map(([id, nodes]) => [id, without(nodes, gone)] as const)
      .filter(([, nodes]) => nodes.length > 0),
  );

const set = (
  state: KnownDesired,
  { node, changesAllowed, changesAllowedUntil, change }: EventData<'DesiredVersionsSet'>,
): KnownDesired => {
  const isInTheMaking = changesAllowed && changesAllowedUntil === undefined && change === undefined;
  const others = without(state.inTheMaking, node);
  return {
    ...state,
    unset: unsetWithout(state, node),
    made: isInTheMaking ? state.made : madeWithout(state, node),
    inTheMaking: isInTheMaking ? [...others, node] : others,
  };
};

const gone = (state: KnownDesired, node: NodeName): KnownDesired => ({
  ...state,
  unset: unsetWithout(state, node),
  made: madeWithout(state, node),
  inTheMaking: without(state.inTheMaking, node),
  kept: without(state.kept, node),
});

const coming = (state: KnownDesired, { plan }: EventData<'UpgradePlanned'>): KnownDesired => ({
  ...state,
  coming: Object.fromEntries(
    plan.operations.flatMap(({ kind, id, to }) =>
      kind === 'addons' && to['kubernetes'] !== undefined ? [[`${plan.upgradeId}/${id}`, to['kubernetes']]] : [],
    ),
  ),
  bookings: Object.fromEntries(
    plan.operations.flatMap(({ kind, id, to }) => (kind === 'book-surge' ? [[`${plan.upgradeId}/${id}`, to]] : [])),
  ),
});

const surging = (state: KnownDesired, { upgradeId, operation, pool }: EventData<'SurgeRequested'>): KnownDesired => ({
  ...state,
  surges: { ...state.surges, [`${upgradeId}/${pool}`]: state.bookings[`${upgradeId}/${operation}`] ?? {} },
});

/** Surge nodes have the target of their upgrade from the start; those of one surge are batched. */
const batchOf = (state: KnownDesired, machines: readonly Machine[]): Batch => {
  const [first] = machines;
  const replaced = first === undefined ? undefined : state.replaced?.[first.pool];
  if (replaced !== undefined) return { nodes: machines.map(({ name }) => name), ...replaced };
  const surge = first?.surge === undefined ? undefined : state.surges[`${first.surge}/${first.pool}`];
  return { nodes: machines.map(({ name }) => name), version: state.version, software: surge ?? {} };
};

const evolveKnown = (state: KnownDesired, event: StoredEvent): Desired => {
  switch (event.type) {
    case 'VmsCreated': {
      const { machines } = event.data;
      return { ...state, unset: { ...state.unset, [event.meta.id]: batchOf(state, machines) } };
    }
    case 'DesiredVersionsSet':
      return set(state, event.data);
    case 'VmDeleted':
      return gone(state, event.data.name);
    case 'NodeRemoved':
      return gone(state, event.data.node);
    case 'ClusterReady':
      return state.inTheMaking.length === 0
        ? state
        : { ...state, made: { ...state.made, [event.meta.id]: state.inTheMaking } };
    case 'NodesFailed': {
      const { nodes, onFailure } = event.data;
      if (onFailure === 'rollback') return state;
      const kept = state.inTheMaking.filter((name) => nodes.includes(name));
      const inTheMaking = state.inTheMaking.filter((name) => !nodes.includes(name));
      return { ...state, inTheMaking, kept: [...state.kept, ...kept] };
    }
    case 'NodeReady': {
      const { node } = event.data;
      if (!state.kept.includes(node)) return state;
      const kept = state.kept.filter((name) => name !== node);
      return { ...state, inTheMaking: [...state.inTheMaking, node], kept };
    }
    case 'ClusterRetryRequested': {
      const version = event.data.correction?.spec.kubernetes.version ?? state.version;
      return { ...state, version, inTheMaking: [...state.inTheMaking, ...state.kept], kept: [] };
    }
    case 'UpgradePlanned':
      return coming(state, event.data);
    case 'SurgeRequested':
      return surging(state, event.data);
    case 'PoolReplacementRequested': {
      const { pool, version, software } = event.data;
      return { ...state, replaced: { ...state.replaced, [pool]: { version, software } } };
    }
    case 'RolloutCompleted':
    case 'RolloutAborted': {
      const { replaced: _replaced, ...others } = state;
      return others;
    }
    case 'OperationCompleted': {
      const version = state.coming[`${event.data.upgradeId}/${event.data.operation}`];
      return version === undefined ? state : { ...state, version };
    }
    default:
      return state;
  }
};

const NONE: Desired = { status: 'none' };

const evolve = (state: Desired, event: StoredEvent): Desired => {
  if (event.type === 'ClusterRequested') {
    const { uid, spec } = event.data;
    const empty = { coming: {}, bookings: {}, surges: {}, inTheMaking: [], kept: [], unset: {}, made: {} };
    return { status: 'desired', uid, version: spec.kubernetes.version, ...empty };
  }
  if (state.status === 'none' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  return event.type === 'ClusterDeleted' ? NONE : evolveKnown(state, event);
};

/** Has no commands: the desired state of nodes is decided in a stream per node (desired.decider.ts). */
const machines: Decider<Desired, never, never> = { initial: NONE, reads: 'cluster', decide: () => nothing, evolve };

const setting = (uid: ClusterUid, id: string, batch: Batch): Task => {
  const data: SetDesired = { uid, ...batch };
  return { type: 'SetDesiredVersions', key: `SetDesiredVersions/${id}`, reason: 'machines were created', data };
};

const withdrawing = (uid: ClusterUid, id: string, nodes: readonly NodeName[]): Task => {
  const data: WithdrawPermissions = { uid, nodes };
  return { type: 'WithdrawPermissions', key: `WithdrawPermissions/${id}`, reason: 'the cluster became Ready', data };
};

/**
 * New machines get the versions of their cluster as soon as all of them run. Their agents may change them until they
 * are Ready. Permissions of an earlier release are withdrawn when the cluster is Ready.
 */
export const desiredReconciler: Reconciler<Desired, never, never> = {
  name: 'desired-versions',
  version: 7,
  context: 'rollout',
  decider: machines,
  generation: (state) => (state.status === 'none' ? '' : state.uid),

  tasks: (state) =>
    state.status === 'none'
      ? []
      : [
          ...Object.entries(state.unset).map(([id, batch]) => setting(state.uid, id, batch)),
          ...Object.entries(state.made).map(([id, nodes]) => withdrawing(state.uid, id, nodes)),
        ],
};
