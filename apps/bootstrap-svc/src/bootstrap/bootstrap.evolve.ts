import type { EventData, Machine, NodeName, StoredEvent } from '@fairlead/contracts';
import { evolveAdditions, retriedHosts } from './additions.evolve.js';
import {
  ABSENT,
  allOf,
  differenceFrom,
  isExtra,
  newHostsOf,
  surgeKey,
  surgeOf,
  type AgentCredentials,
  type Bootstrap,
  type Cluster,
  type Host,
  type Known,
} from './bootstrap.state.js';

const newHost = (machine: Machine, set: number): Host => ({
  machine,
  set,
  desired: null,
  hostKey: null,
  agentStartedAt: null,
  agentSha256: null,
  initialized: false,
  bootstrapped: false,
  balances: [],
  joinedAt: null,
  ready: false,
  adminEndsAt: null,
  trouble: null,
  settled: false,
  removal: 'none',
  failed: false,
});

const newCluster = ({ uid, spec }: EventData<'ClusterRequested'>, time: string): Bootstrap => ({
  status: 'building',
  broken: null,
  uid,
  spec,
  run: 1,
  runStartedAt: time,
  endpoint: null,
  balancedByNodes: false,
  hosts: {},
  sets: 0,
  etcd: null,
  controlPlane: null,
  kubeconfigEndsAt: null,
  network: false,
  healthy: [],
  addons: {},
  agent: null,
  agentRefused: [],
  restore: null,
  abandoned: null,
  surgesOver: [],
  provisioned: false,
  requests: {},
  unwanted: [],
});

const clusterOf = (state: Known): Cluster => {
  const {
    uid,
    spec,
    run,
    runStartedAt,
    endpoint,
    balancedByNodes,
    hosts,
    sets,
    etcd,
    controlPlane,
    kubeconfigEndsAt,
    network,
    healthy,
    addons,
    agent,
    agentRefused,
    restore,
    abandoned,
    surgesOver,
    provisioned,
    requests,
    unrevoked,
    unwanted,
  } = state;
  return {
    uid,
    spec,
    run,
    runStartedAt,
    endpoint,
    balancedByNodes,
    hosts,
    sets,
    etcd,
    controlPlane,
    kubeconfigEndsAt,
    network,
    healthy,
    addons,
    agent,
    agentRefused,
    restore,
    abandoned,
    surgesOver,
    provisioned,
    requests,
    ...(unrevoked === undefined ? {} : { unrevoked }),
    unwanted,
  };
};

const building = (state: Known): Bootstrap => ({ status: 'building', broken: null, ...clusterOf(state) });

const withHost = (state: Known, name: NodeName, change: Partial<Host>): Known => {
  const host = state.hosts[name];
  if (host === undefined) return state; // Removed already, or not ours.
  return { ...state, hosts: { ...state.hosts, [name]: { ...host, ...change } } };
};

const withMachines = (state: Known, machines: readonly Machine[]): Bootstrap => {
  const fresh = machines.filter(({ name }) => state.hosts[name] === undefined);
  if (fresh.length === 0) return state;
  const set = state.sets + 1;
  const hostOf = (machine: Machine): Host => {
    const surge = surgeOf(machine);
    const isOver = surge !== null && state.surgesOver.includes(surge);
    const goes = isOver || state.unwanted.includes(machine.name);
    return { ...newHost(machine, set), removal: goes ? 'desired' : 'none' };
  };
  const hosts = { ...state.hosts, ...Object.fromEntries(fresh.map((machine) => [machine.name, hostOf(machine)])) };
  const grown = { ...state, sets: set, hosts };
  return state.status === 'ready' ? building(grown) : grown;
};

const withUnrevoked = (state: Known, credentials: AgentCredentials | undefined): Known => {
  const unrevoked = allOf([state.unrevoked, credentials]);
  return unrevoked === undefined ? state : { ...state, unrevoked };
};

/** A user whose host is gone meanwhile is still to be revoked. */
const issued = (state: Known, { node, user, lifetimeSeconds }: EventData<'AgentCredentialIssued'>): Known => {
  const one = { users: [user], lifetimeSeconds };
  const host = state.hosts[node];
  if (host === undefined) return withUnrevoked(state, one);
  const credentials = allOf([host.credentials, one]);
  return credentials === undefined ? state : withHost(state, node, { credentials });
};

const minus = (credentials: AgentCredentials | undefined, users: ReadonlySet<string>): AgentCredentials | undefined =>
  credentials === undefined
    ? undefined
    : allOf([{ ...credentials, users: credentials.users.filter((user) => !users.has(user)) }]);

const revoked = (state: Known, event: EventData<'AgentCredentialsRevoked'>): Known => {
  const users: ReadonlySet<string> = new Set(event.users);
  const { unrevoked, ...rest } = state;
  const left = minus(unrevoked, users);
  const hosts = Object.entries(state.hosts).map(([name, host]): [string, Host] => {
    if (host.credentials?.users.some((user) => users.has(user)) !== true) return [name, host];
    const { credentials, ...others } = host;
    const kept = minus(credentials, users);
    return [name, kept === undefined ? others : { ...others, credentials: kept }];
  });
  return { ...rest, hosts: Object.fromEntries(hosts), ...(left === undefined ? {} : { unrevoked: left }) };
};

const withoutHost = (state: Known, name: NodeName): Bootstrap => {
  if (state.hosts[name] === undefined) return state;
  const { [name]: gone, ...hosts } = state.hosts;
  const healthy = state.healthy.filter((node) => node !== name);
  const left = withUnrevoked({ ...state, hosts, healthy }, gone?.credentials);
  // What failed was this node: without it the rest may be whole.
  return state.status === 'failed' && state.failure.node === name ? building(left) : left;
};

/** Its machines go; what was drained already goes on, and what was stuck is tried again. */
const endSurge = (state: Known, ref: Parameters<typeof surgeKey>[0]): Known => {
  const key = surgeKey(ref);
  const surgesOver = [...state.surgesOver.filter((surge) => surge !== key), key];
  const hosts = Object.entries(state.hosts).map(([name, host]): [string, Host] => {
    const stays = surgeOf(host.machine) !== key || host.removal === 'drained';
    return [name, stays ? host : { ...host, removal: 'desired' }];
  });
  return { ...state, surgesOver, hosts: Object.fromEntries(hosts) };
};

/** What the agent reported, measured against what is desired of the node. */
const reported = (
  state: Known,
  data: EventData<'NodeInitialized'> | EventData<'NodeReady'>,
  as: 'initialized' | 'ready',
): Known => {
  const desired = state.hosts[data.node]?.desired ?? null;
  const difference = desired === null ? undefined : differenceFrom(desired, data);
  if (difference === undefined) return withHost(state, data.node, { [as]: true, trouble: null });
  const trouble = { operation: 'compare versions', target: data.node, message: difference };
  return withHost(state, data.node, { [as]: false, trouble });
};

const settleAll = (state: Known): Bootstrap => {
  const hosts = Object.fromEntries(
    Object.entries(state.hosts).map(([name, host]) => [name, host.ready ? { ...host, settled: true } : host]),
  );
  return { ...clusterOf(state), status: 'ready', hosts };
};

const failedRestore = ({ abandoned }: Known, { requestId }: EventData<'EtcdRestoreFailed'>): Cluster['abandoned'] =>
  abandoned?.requestId === requestId ? { ...abandoned, failed: true } : abandoned;

const withoutSnapshot = (state: Known, { node, requestId }: EventData<'EtcdSnapshotRemoved'>): Known => {
  const { abandoned } = state;
  if (abandoned?.requestId !== requestId) return state;
  const nodes = abandoned.nodes.filter((name) => name !== node);
  return { ...state, abandoned: nodes.length === 0 ? null : { ...abandoned, nodes } };
};

const placed = (state: Known, { node, requestId }: EventData<'EtcdSnapshotPlaced'>): Known => {
  const { restore } = state;
  if (restore?.requestId !== requestId) return state;
  return { ...state, restore: { ...restore, missing: restore.missing.filter((name) => name !== node) } };
};

/** The kubeconfig that was sealed first is that of the node on which kubeadm init ran, as its agent tells of it first. */
const adminReported = (state: Known, { node, certificates }: EventData<'CertificatesReported'>): Known => {
  const adminEndsAt = certificates.find(({ name }) => name === 'admin.conf')?.expiresAt ?? null;
  const known = withHost(state, node, { adminEndsAt });
  return node === state.controlPlane?.node && state.kubeconfigEndsAt === null
    ? { ...known, kubeconfigEndsAt: adminEndsAt }
    : known;
};

/** Our own facts. */
const evolveBootstrap = (state: Known, event: StoredEvent): Bootstrap => {
  const { time } = event.meta;
  switch (event.type) {
    case 'HostReached':
      return withHost(state, event.data.node, { hostKey: event.data.hostKey });
    case 'AgentStarted':
      return withHost(state, event.data.node, { agentStartedAt: time, agentSha256: event.data.sha256 });
    case 'AgentCredentialIssued':
      return issued(state, event.data);
    case 'AgentCredentialsRevoked':
      return revoked(state, event.data);
    case 'AgentUpdateRequested': {
      const { agentVersion: version, sha256 } = event.data;
      return { ...state, agent: { version, sha256 }, agentRefused: [] };
    }
    case 'AgentUpdated':
      return withHost(state, event.data.node, { agentSha256: event.data.sha256 });
    case 'NodeBootstrapped':
      return withHost(state, event.data.node, { bootstrapped: true });
    case 'ApiBalanced':
      return withHost(state, event.data.node, { balances: event.data.controlPlanes });
    case 'EtcdReady':
      return { ...state, etcd: event.data.members };
    case 'ControlPlaneInitialized': {
      const { node, endpoint, kubeconfigRef, caCertHash } = event.data;
      const controlPlane = { node, endpoint, kubeconfigRef, caCertHash };
      const kubeconfigEndsAt = state.hosts[node]?.adminEndsAt ?? null;
      return withHost({ ...state, controlPlane, kubeconfigEndsAt }, node, { joinedAt: time });
    }
    case 'KubeconfigRefreshed': {
      // What its certificate says, whatever the agent said of it: an agent that promises more is not asked again and again.
      const { node, expiresAt } = event.data;
      return withHost({ ...state, kubeconfigEndsAt: expiresAt }, node, { adminEndsAt: expiresAt });
    }
    case 'NetworkReady':
      return { ...state, network: true };
    case 'ControlPlaneJoined':
    case 'WorkerJoined':
      return withHost(state, event.data.node, { joinedAt: time });
    case 'ControlPlaneReady':
      return { ...state, healthy: event.data.nodes };
    case 'AddonInstalled':
      return { ...state, addons: { ...state.addons, [event.data.addon]: event.data.version } };
    case 'ClusterReady':
      return settleAll(state);
    case 'ClusterFailed': {
      const { step, node, reason, cause } = event.data;
      const failure = { step, reason, cause, ...(node === undefined ? {} : { node }) };
      return { ...clusterOf(state), status: 'failed', failure };
    }
    case 'BootstrapStepFailed': {
      const { step, node, nextAttemptAt } = event.data;
      if (node === undefined || nextAttemptAt !== null) return state;
      if (step === 'UpdateAgent') return { ...state, agentRefused: [...state.agentRefused, node] };
      // No one waits for an extra machine that is not available: it goes.
      if (step !== 'RemoveNode') return isExtra(state, node) ? withHost(state, node, { removal: 'desired' }) : state;
      return withHost(state, node, { removal: 'stuck' });
    }
    case 'EtcdSnapshotPlaced':
      return placed(state, event.data);
    case 'EtcdSnapshotRemoved':
      return withoutSnapshot(state, event.data);
    case 'NodeDrained':
      return withHost(state, event.data.node, { removal: 'drained' });
    case 'NodeRemoved':
      return withoutHost(state, event.data.node);
    case 'ClusterDismantled':
      return { ...clusterOf(state), status: 'dismantled' };
    default:
      return state;
  }
};

/** Every step that is still desired is asked for again; nodes that were kept are on their way again. */
const retried = (state: Known, time: string): Bootstrap => {
  const again = retriedHosts({ ...state, run: state.run + 1, runStartedAt: time, agentRefused: [] });
  const isGrowing = state.status === 'ready' && newHostsOf(again).length > 0;
  return state.status === 'failed' || state.status === 'building' || isGrowing ? building(again) : again;
};

/** What people, infra-svc, upgrade-svc and agents say. */
const evolveOthers = (state: Known, event: StoredEvent): Bootstrap => {
  switch (event.type) {
    case 'ClusterRetryRequested':
      return retried(state, event.meta.time);
    case 'ClusterDeletionRequested':
      return state.status === 'dismantled' ? state : { ...clusterOf(state), status: 'deleting' };
    case 'VmsCreated':
      return withMachines(state, event.data.machines);
    case 'LoadBalancerReady':
      return {
        ...state,
        endpoint: { host: event.data.host, port: event.data.port },
        balancedByNodes: event.data.placement === 'control-planes',
      };
    case 'InfrastructureFailed': {
      if (state.status !== 'building' || state.provisioned) return state;
      const { step, reason, cause } = event.data;
      return { ...state, broken: { step, reason, cause } };
    }
    case 'SurgeRequested': {
      const key = surgeKey(event.data);
      return { ...state, surgesOver: state.surgesOver.filter((surge) => surge !== key) };
    }
    case 'SurgeReleased':
    case 'SurgeFailed':
      return endSurge(state, event.data);
    case 'VmDeleted':
      return withoutHost(state, event.data.name);
    case 'NodeRemovalRequested':
      return withHost(state, event.data.node, { removal: 'desired' });
    case 'EtcdRestoreStarted': {
      const { requestId, snapshot, sha256, members } = event.data;
      const nodes = members.map(({ node }) => node);
      return {
        ...state,
        restore: { requestId, snapshot, sha256, missing: nodes },
        abandoned: { requestId, sha256, nodes, failed: false },
      };
    }
    case 'EtcdRestoreAdvanced':
      return event.data.step === 'place' ? state : { ...state, restore: null };
    case 'EtcdRestored':
      return { ...state, restore: null, abandoned: null };
    case 'EtcdRestoreFailed':
      return { ...state, restore: null, abandoned: failedRestore(state, event.data) };
    case 'DesiredVersionsSet': {
      const { revision, software, changesAllowed } = event.data;
      return withHost(state, event.data.node, { desired: { revision, software, changesAllowed } });
    }
    case 'CertificatesReported':
      return adminReported(state, event.data);
    case 'NodeInitialized':
      return reported(state, event.data, 'initialized');
    case 'NodeReady':
      return reported(state, event.data, 'ready');
    case 'NodeInitializationFailed': {
      const { node, command, message } = event.data;
      return withHost(state, node, { trouble: { operation: command, target: node, message } });
    }
    case 'NodeNotReady': {
      const { node, reason, message } = event.data;
      const trouble = { operation: reason, target: node, message };
      return withHost(state, node, { ready: false, trouble });
    }
    default:
      return state;
  }
};

/** A deleted cluster is forgotten; facts about another incarnation of the name are ignored. */
export const evolve = (state: Bootstrap, event: StoredEvent): Bootstrap => {
  if (event.type === 'ClusterRequested') {
    return state.status === 'absent' ? newCluster(event.data, event.meta.time) : state;
  }
  if (state.status === 'absent') return state;
  if (!('uid' in event.data) || event.data.uid !== state.uid) return state;
  if (event.type === 'ClusterDeleted') return ABSENT;
  const evolved = evolveBootstrap(state, event);
  const after = evolved === state ? evolveOthers(state, event) : evolved;
  return after.status === 'absent' ? after : evolveAdditions(after, event);
};
