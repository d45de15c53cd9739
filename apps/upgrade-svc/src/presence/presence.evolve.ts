import {
  nodeConditionWords,
  type ClusterUid,
  type EventData,
  type NodePressure,
  type StoredEvent,
} from '@fairlead/contracts';
import { membersAfter, newMember, withMember, type Member as ClusterMember, type Members } from '@fairlead/domain';
import { findingsText } from './services.planner.js';

interface Member extends ClusterMember {
  /** null: the machine does not run yet. */
  readonly providerId: string | null;
  /** When its joining or its return was recorded. */
  readonly sinceMs: number;
  /** The uid of its Node on its return; null: not recorded. */
  readonly nodeUid: string | null;
  readonly pressures: readonly NodePressure[];
  /** Its other conditions as text; absent: none recorded. */
  readonly conditions?: string;
}

export type EtcdProblem = EventData<'EtcdDegraded'>['problems'][number];

/** Identifies a problem independently of the numbers in its message. */
export const keyOf = ({ code, message }: EtcdProblem): string =>
  `${code} ${message.replace(/\b\d+(?= (?:entries|%))/g, '#')}`;

export interface KnownPresence {
  readonly status: 'known';
  readonly uid: ClusterUid;
  /** Node objects change while the cluster is deleted, or while etcd is restored. */
  readonly deleting: boolean;
  readonly restoring: boolean;
  readonly paused: boolean;
  readonly members: Members<Member>;
  /** The installed addons. */
  readonly addons: ReadonlySet<string>;
  /** As recorded. */
  readonly degraded: ReadonlySet<string>;
  /** It has a name at the tunnel. */
  readonly isNamed: boolean;
  /** Names of services that its manifest declares. */
  readonly declared: readonly string[];
  /** What its Services ask for, as recorded; empty: nothing. */
  readonly services: string;
  /** Keys of the etcd problems, as recorded. */
  readonly etcd: readonly string[];
  /** As recorded. */
  readonly missing: ReadonlySet<string>;
  readonly strangers: ReadonlySet<string>;
  /** The strangers whose Node object is deleted. */
  readonly expired: ReadonlySet<string>;
  /** The most recently removed nodes of the cluster. */
  readonly removed: ReadonlySet<string>;
  /** etcd was restored at some time, so that Node objects of removed nodes may exist again. */
  readonly restored: boolean;
}

export type Presence = { readonly status: 'absent' } | KnownPresence;

export const ABSENT: Presence = { status: 'absent' };

const begin = ({ data: { uid } }: StoredEvent<'ClusterRequested'>): KnownPresence => ({
  status: 'known',
  uid,
  deleting: false,
  restoring: false,
  paused: false,
  members: {},
  addons: new Set(),
  degraded: new Set(),
  isNamed: false,
  declared: [],
  services: '',
  etcd: [],
  missing: new Set(),
  strangers: new Set(),
  expired: new Set(),
  removed: new Set(),
  restored: false,
});

const entering = (event: StoredEvent): readonly Member[] =>
  event.type === 'VmsPlanned'
    ? event.data.machines.map((plan) => ({
        ...newMember(plan),
        ...{ providerId: null, sinceMs: 0, nodeUid: null, pressures: [] },
      }))
    : [];

const changed = (state: KnownPresence, name: string, change: Partial<Member>): KnownPresence => ({
  ...state,
  members: withMember(state.members, name, change),
});

const without = (names: ReadonlySet<string>, name: string): ReadonlySet<string> =>
  names.has(name) ? new Set([...names].filter((one) => one !== name)) : names;

/** Number of removed nodes to remember: a snapshot of etcd contains the Node objects of its time. */
const REMOVED_MAX = 1_000;

const gone = (before: KnownPresence, after: KnownPresence, name: string): KnownPresence => {
  const isRemoved = before.members[name]?.joined === true;
  const removed = isRemoved ? new Set([...after.removed, name].slice(-REMOVED_MAX)) : after.removed;
  return { ...after, missing: without(after.missing, name), removed };
};

/** An agent repeatedly reports that its node is Ready: the first report counts. */
const joined = (before: KnownPresence, after: KnownPresence, name: string, time: string): KnownPresence =>
  before.members[name]?.joined === false ? changed(after, name, { sinceMs: Date.parse(time) }) : after;

const evolveMembers = (before: KnownPresence, event: StoredEvent): KnownPresence => {
  const state = { ...before, members: membersAfter(before.members, event, entering(event)) };
  switch (event.type) {
    case 'VmCreated': {
      const { name, providerId } = event.data.machine;
      return changed(state, name, { providerId });
    }
    case 'ControlPlaneInitialized':
    case 'ControlPlaneJoined':
    case 'WorkerJoined':
    case 'NodeReady':
      return joined(before, state, event.data.node, event.meta.time);
    case 'VmDeleted':
      return gone(before, state, event.data.name);
    default:
      return state;
  }
};

/** Events about the cluster as a whole. */
const evolveCluster = (state: KnownPresence, event: StoredEvent): KnownPresence => {
  switch (event.type) {
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
      return state;
  }
};

const NONE: ReadonlySet<string> = new Set();

const evolveAddons = (state: KnownPresence, event: StoredEvent): KnownPresence => {
  switch (event.type) {
    case 'NetworkReady':
      return { ...state, addons: new Set(state.addons).add(event.data.cni) };
    case 'AddonInstalled':
      return { ...state, addons: new Set(state.addons).add(event.data.addon) };
    case 'AddonDegraded':
      return { ...state, degraded: new Set(state.degraded).add(event.data.addon) };
    case 'AddonRecovered':
      return { ...state, degraded: without(state.degraded, event.data.addon) };
    // These events confirm that all addons run: one that does not is recorded again.
    case 'ClusterReady':
    case 'AddonsUpgraded':
      return state.degraded.size === 0 ? state : { ...state, degraded: NONE };
    default:
      return state;
  }
};

const evolveServices = (state: KnownPresence, event: StoredEvent): KnownPresence => {
  switch (event.type) {
    case 'ClusterSpecChanged': {
      const declared = event.data.spec.authentication?.oidc?.services?.map(({ name }) => name) ?? [];
      return { ...state, declared };
    }
    case 'EndpointReserved':
      return { ...state, isNamed: true };
    case 'PublishedServicesFound':
      return { ...state, services: findingsText(event.data) };
    default:
      return state;
  }
};

const evolveNodes = (state: KnownPresence, event: StoredEvent): KnownPresence => {
  switch (event.type) {
    case 'NodeConditionsChanged':
      return changed(state, event.data.node, { conditions: event.data.conditions.map(nodeConditionWords).join() });
    case 'NodePressureChanged':
      return changed(state, event.data.node, { pressures: event.data.conditions });
    case 'NodeMissing':
      return { ...state, missing: new Set(state.missing).add(event.data.node) };
    case 'NodeReturned': {
      const { node, nodeUid = null } = event.data;
      const back = { ...state, missing: without(state.missing, node) };
      return changed(back, node, { nodeUid, sinceMs: Date.parse(event.meta.time) });
    }
    case 'EtcdDegraded':
      return { ...state, etcd: event.data.problems.map(keyOf).toSorted() };
    case 'EtcdRecovered':
    case 'EtcdRestored':
      return evolveCluster({ ...state, etcd: [] }, event);
    case 'NodeWithoutMachineFound':
      return { ...state, strangers: new Set(state.strangers).add(event.data.name) };
    case 'NodeWithoutMachineExpired':
      return { ...state, expired: new Set(state.expired).add(event.data.name) };
    case 'NodeWithoutMachineGone': {
      const { name } = event.data;
      return { ...state, strangers: without(state.strangers, name), expired: without(state.expired, name) };
    }
    default:
      return evolveServices(evolveAddons(evolveCluster(state, event), event), event);
  }
};

export const evolve = (state: Presence, event: StoredEvent): Presence => {
  if (event.type === 'ClusterRequested') return begin(event);
  if (state.status === 'absent' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  return event.type === 'ClusterDeleted' ? ABSENT : evolveNodes(evolveMembers(state, event), event);
};
