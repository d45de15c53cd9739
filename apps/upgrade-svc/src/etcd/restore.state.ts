import {
  type Cause,
  type ClusterUid,
  type EventData,
  type Machine,
  type NodeName,
  type RestoreStep,
  type StoredEvent,
  type UpgradeId,
} from '@fairlead/contracts';
import { finalFailure } from '../agents/change.failure.js';

/** A requested restore, from the request to its end. */
export interface Current {
  readonly requestId: string;
  readonly snapshot: string;
  /** asked: no step is stated yet. */
  readonly step: RestoreStep | 'asked';
  readonly since: string;
  /** Nodes that have completed the step. */
  readonly done: readonly NodeName[];
  /** Why the step failed. */
  readonly failed: Cause | null;
  /** Why it is undone. */
  readonly cause: Cause | null;
  /** Whether etcd and the API were verified after the start. */
  readonly verified: boolean;
}

interface Snapshot {
  readonly sha256: string;
  readonly bytes: number;
  readonly restorable: boolean;
}

interface Place {
  readonly controlPlane: boolean;
  readonly peerUrl: string;
}

/** The state on which a restore of etcd depends. */
export interface Restores {
  readonly uid: ClusterUid | null;
  readonly nodes: Readonly<Record<string, Place>>;
  readonly snapshots: Readonly<Record<string, Snapshot>>;
  /** The current rollout. */
  readonly rollout: UpgradeId | null;
  readonly current: Current | null;
  /** Nodes whose agents may perform a step of a restore. */
  readonly permitted: readonly NodeName[];
}

export const NO_RESTORES: Restores = {
  uid: null,
  nodes: {},
  snapshots: {},
  rollout: null,
  current: null,
  permitted: [],
};

const peerUrlOf = (address: string): string => `https://${address.includes(':') ? `[${address}]` : address}:2380`;

const withMachines = (state: Restores, machines: readonly Machine[]): Restores => ({
  ...state,
  nodes: {
    ...state.nodes,
    ...Object.fromEntries(
      machines.map(({ name, role, privateIp }) => [
        name,
        { controlPlane: role === 'control-plane', peerUrl: peerUrlOf(privateIp) },
      ]),
    ),
  },
});

const moved = (state: Restores, { node, privateIp }: EventData<'VmAddressChanged'>): Restores => {
  const known = state.nodes[node];
  if (known === undefined) return state;
  return { ...state, nodes: { ...state.nodes, [node]: { ...known, peerUrl: peerUrlOf(privateIp) } } };
};

const withoutNode = (state: Restores, name: NodeName): Restores => {
  const { [name]: _gone, ...nodes } = state.nodes;
  return { ...state, nodes, permitted: state.permitted.filter((node) => node !== name) };
};

const withDesired = (state: Restores, { node, change }: EventData<'DesiredVersionsSet'>): Restores => {
  const isPermitted = change?.etcd !== undefined;
  if (isPermitted === state.permitted.includes(node)) return state;
  const others = state.permitted.filter((other) => other !== node);
  return { ...state, permitted: isPermitted ? [...others, node] : others };
};

export const controlPlanesOf = ({ nodes }: Restores): readonly NodeName[] =>
  Object.keys(nodes).filter((name) => nodes[name]?.controlPlane === true) as NodeName[];

export const workersOf = ({ nodes }: Restores): readonly NodeName[] =>
  Object.keys(nodes).filter((name) => nodes[name]?.controlPlane === false) as NodeName[];

/** The nodes that must complete a step before the next one begins. */
export const nodesIn = (state: Restores, step: RestoreStep): readonly NodeName[] => {
  if (step === 'verify') return [];
  return step === 'refresh' ? workersOf(state) : controlPlanesOf(state);
};

export const changeIdOf = (requestId: string, step: RestoreStep): string => `restore/${requestId}/${step}`;

const asked = ({ requestId, snapshot }: EventData<'EtcdRestoreRequested'>, since: string): Current => ({
  requestId,
  snapshot,
  step: 'asked',
  since,
  done: [],
  failed: null,
  cause: null,
  verified: false,
});

const withCurrent = (state: Restores, requestId: string, change: (current: Current) => Partial<Current>): Restores => {
  const { current } = state;
  return current?.requestId === requestId ? { ...state, current: { ...current, ...change(current) } } : state;
};

const whenProgressed = (state: Restores, data: EventData<'NodeChangeProgressed'>): Restores => {
  const { current } = state;
  if (current === null || current.step === 'asked' || data.change !== changeIdOf(current.requestId, current.step))
    return state;
  if (data.status === 'done')
    return withCurrent(state, current.requestId, ({ done }) => ({ done: [...done, data.node] }));
  const failed = finalFailure(data);
  return failed === undefined ? state : withCurrent(state, current.requestId, () => ({ failed }));
};

/** Applies events of agents, bootstrap-svc and this service about the current restore. */
const evolveCurrent = (state: Restores, event: StoredEvent): Restores => {
  const { time } = event.meta;
  switch (event.type) {
    case 'EtcdRestoreRequested':
      return { ...state, current: asked(event.data, time) };
    case 'EtcdRestoreAdvanced': {
      const { requestId, step, cause } = event.data;
      return withCurrent(state, requestId, () => ({ step, since: time, done: [], failed: null, cause }));
    }
    case 'ClusterResumed':
      return state.current === null ? state : { ...state, current: { ...state.current, since: time } };
    case 'EtcdSnapshotPlaced':
      return withCurrent(state, event.data.requestId, ({ done }) => ({ done: [...done, event.data.node] }));
    case 'BootstrapStepFailed': {
      const { step, cause, nextAttemptAt } = event.data;
      if (step !== 'PlaceSnapshot' || nextAttemptAt !== null || state.current?.step !== 'place') return state;
      return withCurrent(state, state.current.requestId, () => ({ failed: cause }));
    }
    case 'NodeChangeProgressed':
      return whenProgressed(state, event.data);
    case 'EtcdRestored':
    case 'EtcdRestoreFailed':
      return state.current?.requestId === event.data.requestId ? { ...state, current: null } : state;
    default:
      return state;
  }
};

export const evolve = (state: Restores, event: StoredEvent): Restores => {
  if (event.type === 'ClusterRequested') return { ...NO_RESTORES, uid: event.data.uid };
  if (!('uid' in event.data) || event.data.uid !== state.uid) return state;
  switch (event.type) {
    case 'ClusterDeleted':
      return NO_RESTORES;
    case 'VmsCreated':
      return withMachines(state, event.data.machines);
    case 'VmAddressChanged':
      return moved(state, event.data);
    case 'VmDeleted':
      return withoutNode(state, event.data.name);
    case 'NodeRemoved':
      return withoutNode(state, event.data.node);
    case 'EtcdSnapshotTaken': {
      const { snapshot, sha256, bytes, dataRef } = event.data;
      return {
        ...state,
        snapshots: { ...state.snapshots, [snapshot]: { sha256, bytes, restorable: dataRef !== null } },
      };
    }
    case 'EtcdSnapshotDeleted': {
      const { [event.data.snapshot]: _gone, ...snapshots } = state.snapshots;
      return { ...state, snapshots };
    }
    case 'DesiredVersionsSet':
      return withDesired(state, event.data);
    case 'RolloutStarted':
      return { ...state, rollout: event.data.upgradeId };
    case 'RolloutCompleted':
    case 'RolloutAborted':
      return state.rollout === event.data.upgradeId ? { ...state, rollout: null } : state;
    default:
      return evolveCurrent(state, event);
  }
};
