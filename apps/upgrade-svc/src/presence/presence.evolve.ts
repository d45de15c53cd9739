import {
  readinessAfter,
  replacedIn,
  type ClusterUid,
  type NodePressure,
  type Readiness,
  type ReadinessEvent,
  type StoredEvent,
} from '@fairlead/contracts';

/** A machine of the cluster, from its plan to its end. */
interface Member extends Readiness {
  /** Its node was part of the cluster. */
  readonly joined: boolean;
  /** Its node is being removed, or was. */
  readonly leaving: boolean;
  /** null: the machine does not run yet. */
  readonly providerId: string | null;
  /** When it was recorded that it has joined, or returned. */
  readonly sinceMs: number;
  /** Of its Node when it returned; null: not recorded. */
  readonly nodeUid: string | null;
  readonly pressures: readonly NodePressure[];
}

export interface Known {
  readonly status: 'known';
  readonly uid: ClusterUid;
  /** Node objects come and go while the cluster is deleted, or while etcd gets earlier objects. */
  readonly deleting: boolean;
  readonly restoring: boolean;
  readonly paused: boolean;
  readonly members: Readonly<Record<string, Member>>;
  /** Those that are installed. */
  readonly addons: ReadonlySet<string>;
  /** As it was stated. */
  readonly degraded: ReadonlySet<string>;
  /** As it was stated. */
  readonly missing: ReadonlySet<string>;
  readonly strangers: ReadonlySet<string>;
  /** Those of them whose Node object is deleted. */
  readonly expired: ReadonlySet<string>;
  /** Nodes that were part of the cluster and were removed; the latest of them. */
  readonly removed: ReadonlySet<string>;
  /** etcd was restored at some time, so that Node objects of removed nodes may be back. */
  readonly restored: boolean;
}

export type Presence = { readonly status: 'absent' } | Known;

export const ABSENT: Presence = { status: 'absent' };

const begin = ({ data: { uid } }: StoredEvent<'ClusterRequested'>): Known => ({
  status: 'known',
  uid,
  deleting: false,
  restoring: false,
  paused: false,
  members: {},
  addons: new Set(),
  degraded: new Set(),
  missing: new Set(),
  strangers: new Set(),
  expired: new Set(),
  removed: new Set(),
  restored: false,
});

const FRESH: Member = {
  joined: false,
  leaving: false,
  providerId: null,
  sinceMs: 0,
  nodeUid: null,
  ready: false,
  pressures: [],
};

const withMembers = (state: Known, names: readonly string[], change: Partial<Member>): Known => {
  const changed = names.flatMap((name): [string, Member][] => {
    const member = state.members[name];
    return member === undefined ? [] : [[name, { ...member, ...change }]];
  });
  return changed.length === 0 ? state : { ...state, members: { ...state.members, ...Object.fromEntries(changed) } };
};

const without = (names: ReadonlySet<string>, name: string): ReadonlySet<string> =>
  names.has(name) ? new Set([...names].filter((one) => one !== name)) : names;

/** A snapshot of etcd has the Node objects of its time; of the nodes that were removed, so many are remembered. */
const REMOVED_MAX = 1_000;

const gone = (state: Known, name: string): Known => {
  const { [name]: left, ...members } = state.members;
  const removed = left?.joined === true ? new Set([...state.removed, name].slice(-REMOVED_MAX)) : state.removed;
  return { ...state, members, missing: without(state.missing, name), removed };
};

/** Nodes that begin to leave with the event. */
const leavingIn = (event: StoredEvent): readonly string[] => {
  switch (event.type) {
    case 'NodeRemovalRequested':
    case 'NodeRemoved':
      return [event.data.node];
    case 'NodesAbandoned':
    case 'SurgeReleased':
      return event.data.nodes;
    case 'VmsFailed':
      return event.data.onFailure === 'rollback' ? event.data.machines : [];
    case 'NodesFailed':
      return event.data.onFailure === 'rollback' ? event.data.nodes : [];
    default: {
      const left = replacedIn(event);
      return left === undefined ? [] : [left];
    }
  }
};

/** An agent says again and again that its node is Ready: the first word counts. */
const joined = (state: Known, name: string, time: string): Known =>
  state.members[name]?.joined === true
    ? state
    : withMembers(state, [name], { joined: true, sinceMs: Date.parse(time) });

const evolveMembers = (state: Known, event: StoredEvent): Known => {
  switch (event.type) {
    case 'VmsPlanned': {
      const fresh = event.data.machines.filter(({ name }) => state.members[name] === undefined);
      const added = Object.fromEntries(fresh.map(({ name }) => [name, FRESH]));
      return { ...state, members: { ...state.members, ...added } };
    }
    case 'VmCreated': {
      const { name, providerId } = event.data.machine;
      return withMembers(state, [name], { providerId });
    }
    case 'ControlPlaneInitialized':
    case 'ControlPlaneJoined':
    case 'WorkerJoined':
      return joined(state, event.data.node, event.meta.time);
    case 'NodeRemovalCancelled':
      return withMembers(state, [event.data.node], { leaving: false });
    case 'VmDeleted':
      return gone(state, event.data.name);
    case 'ClusterDeletionRequested':
      return { ...state, deleting: true };
    case 'ClusterPaused':
      return { ...state, paused: true };
    case 'ClusterResumed':
      return { ...state, paused: false };
    case 'EtcdRestoreRequested':
      return { ...state, restoring: true };
    case 'EtcdRestoreAdvanced':
      return event.data.step === 'verify' ? { ...state, restored: true } : state;
    case 'EtcdRestored':
    case 'EtcdRestoreFailed':
      return { ...state, restoring: false };
    default:
      return withMembers(state, leavingIn(event), { leaving: true });
  }
};

const NONE: ReadonlySet<string> = new Set();

const evolveAddons = (state: Known, event: StoredEvent): Known => {
  switch (event.type) {
    case 'NetworkReady':
      return { ...state, addons: new Set(state.addons).add(event.data.cni) };
    case 'AddonInstalled':
      return { ...state, addons: new Set(state.addons).add(event.data.addon) };
    case 'AddonDegraded':
      return { ...state, degraded: new Set(state.degraded).add(event.data.addon) };
    case 'AddonRecovered':
      return { ...state, degraded: without(state.degraded, event.data.addon) };
    // They were seen to run: one that does not is stated again.
    case 'ClusterReady':
    case 'AddonsUpgraded':
      return state.degraded.size === 0 ? state : { ...state, degraded: NONE };
    default:
      return state;
  }
};

const withReadiness = (state: Known, { type, data }: StoredEvent<ReadinessEvent>): Known => {
  const member = state.members[data.node];
  return member === undefined ? state : withMembers(state, [data.node], readinessAfter(member, type));
};

const evolveKnown = (state: Known, event: StoredEvent): Known => {
  switch (event.type) {
    case 'NodeReady':
      return withReadiness(joined(state, event.data.node, event.meta.time), event);
    case 'NodeNotReady':
    case 'NodeReadinessContradicted':
    case 'NodeReadinessConfirmed':
      return withReadiness(state, event);
    case 'NodePressureChanged':
      return withMembers(state, [event.data.node], { pressures: event.data.conditions });
    case 'NodeMissing':
      return withReadiness({ ...state, missing: new Set(state.missing).add(event.data.node) }, event);
    case 'NodeReturned': {
      const { node, nodeUid = null } = event.data;
      const back = withReadiness({ ...state, missing: without(state.missing, node) }, event);
      return withMembers(back, [node], { nodeUid, sinceMs: Date.parse(event.meta.time) });
    }
    case 'NodeWithoutMachineFound':
      return { ...state, strangers: new Set(state.strangers).add(event.data.name) };
    case 'NodeWithoutMachineExpired':
      return { ...state, expired: new Set(state.expired).add(event.data.name) };
    case 'NodeWithoutMachineGone': {
      const { name } = event.data;
      return { ...state, strangers: without(state.strangers, name), expired: without(state.expired, name) };
    }
    default:
      return evolveAddons(evolveMembers(state, event), event);
  }
};

export const evolve = (state: Presence, event: StoredEvent): Presence => {
  if (event.type === 'ClusterRequested') return begin(event);
  if (state.status === 'absent' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  return event.type === 'ClusterDeleted' ? ABSENT : evolveKnown(state, event);
};
