import { machineAt, type EventData, type Machine, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { hooksAfter, readinessAfter, type Readiness, type ReadinessEvent } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import { evolveAuthentication } from './authentication.evolve.js';
import { endsGrowth, evolveRequests, retriedHosts } from './additions.evolve.js';
import { evolveChanges } from './changes.evolve.js';
import { evolveDepartures, stuck } from './departures.evolve.js';
import { evolveMetadata } from './metadata.evolve.js';
import { evolveRestored } from './restored.evolve.js';
import { evolveVerifications } from './verifications.evolve.js';
import {
  drainBlockedBy,
  ABSENT,
  allOf,
  controlPlanesOf,
  differenceFrom,
  isSurge,
  isKeyStep,
  newHostsOf,
  surgeKey,
  surgeOf,
  type AgentCredentials,
  type Bootstrap,
  type Cluster,
  type Desired,
  type Host,
  type Present,
} from './bootstrap.state.js';
import { evolveTakeOver } from './takeover.evolve.js';

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

const newCluster = ({ uid, spec }: EventData<'ClusterRequested'>, time: string): Cluster => ({
  uid,
  spec,
  run: 1,
  runStartedAt: time,
  endpoint: null,
  balancedByNodes: false,
  targets: null,
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

const building = (cluster: Cluster): Bootstrap => ({ status: 'building', cluster, broken: null });

const withHost = (cluster: Cluster, name: NodeName, change: Partial<Host>): Cluster => {
  const host = cluster.hosts[name];
  if (host === undefined) return cluster; // Already removed, or not a host of this cluster.
  return { ...cluster, hosts: { ...cluster.hosts, [name]: { ...host, ...change } } };
};

const withMachines = (cluster: Cluster, machines: readonly Machine[]): Cluster => {
  const fresh = machines.filter(({ name }) => cluster.hosts[name] === undefined);
  if (fresh.length === 0) return cluster;
  const set = cluster.sets + 1;
  const hostOf = (machine: Machine): Host => {
    const surge = surgeOf(machine);
    const isOver = surge !== null && cluster.surgesOver.includes(surge);
    const goes = isOver || cluster.unwanted.includes(machine.name);
    return { ...newHost(machine, set), removal: goes ? 'desired' : 'none' };
  };
  const hosts = { ...cluster.hosts, ...Object.fromEntries(fresh.map((machine) => [machine.name, hostOf(machine)])) };
  return { ...cluster, sets: set, hosts };
};

/** The balancers of all control planes contain every address, so they are rewritten. */
const moved = (cluster: Cluster, data: EventData<'VmAddressChanged'>): Cluster => {
  const host = cluster.hosts[data.node];
  if (host === undefined) return cluster;
  const after = withHost(cluster, data.node, { machine: machineAt(host.machine, data) });
  if (host.machine.role !== 'control-plane') return after;
  const hosts = Object.entries(after.hosts).map(([name, one]): [string, Host] => [name, { ...one, balances: [] }]);
  return { ...after, hosts: Object.fromEntries(hosts) };
};

const withUnrevoked = (cluster: Cluster, credentials: AgentCredentials | undefined): Cluster => {
  const unrevoked = allOf([cluster.unrevoked, credentials]);
  return unrevoked === undefined ? cluster : { ...cluster, unrevoked };
};

/** A user whose host is gone by now must still be revoked. */
const issued = (cluster: Cluster, { node, user, lifetimeSeconds }: EventData<'AgentCredentialIssued'>): Cluster => {
  const one = { users: [user], lifetimeSeconds };
  const host = cluster.hosts[node];
  if (host === undefined) return withUnrevoked(cluster, one);
  const credentials = allOf([host.credentials, one]);
  return credentials === undefined ? cluster : withHost(cluster, node, { credentials });
};

const minus = (credentials: AgentCredentials | undefined, users: ReadonlySet<string>): AgentCredentials | undefined =>
  credentials === undefined
    ? undefined
    : allOf([{ ...credentials, users: credentials.users.filter((user) => !users.has(user)) }]);

const revoked = (cluster: Cluster, event: EventData<'AgentCredentialsRevoked'>): Cluster => {
  const users: ReadonlySet<string> = new Set(event.users);
  const { unrevoked, ...rest } = cluster;
  const left = minus(unrevoked, users);
  const hosts = Object.entries(cluster.hosts).map(([name, host]): [string, Host] => {
    if (host.credentials?.users.some((user) => users.has(user)) !== true) return [name, host];
    const { credentials, ...others } = host;
    const kept = minus(credentials, users);
    return [name, kept === undefined ? others : { ...others, credentials: kept }];
  });
  return { ...rest, hosts: Object.fromEntries(hosts), ...(left === undefined ? {} : { unrevoked: left }) };
};

const withoutHost = (cluster: Cluster, name: NodeName): Cluster => {
  if (cluster.hosts[name] === undefined) return cluster;
  const { [name]: gone, ...hosts } = cluster.hosts;
  const healthy = cluster.healthy.filter((node) => node !== name);
  const etcd = cluster.etcd?.filter(({ node }) => node !== name) ?? null;
  return withUnrevoked({ ...cluster, hosts, healthy, etcd }, gone?.credentials);
};

/** Its machines are removed; drained ones continue, and stuck ones are retried. */
const endSurge = (cluster: Cluster, ref: Parameters<typeof surgeKey>[0]): Cluster => {
  const key = surgeKey(ref);
  const surgesOver = [...cluster.surgesOver.filter((surge) => surge !== key), key];
  const hosts = Object.entries(cluster.hosts).map(([name, host]): [string, Host] => {
    const stays = surgeOf(host.machine) !== key || host.removal === 'drained';
    return [name, stays ? host : { ...host, removal: 'desired' }];
  });
  return { ...cluster, surgesOver, hosts: Object.fromEntries(hosts) };
};

const desiredOf = ({
  revision,
  software,
  changesAllowed,
  changesAllowedUntil,
}: EventData<'DesiredVersionsSet'>): Desired => ({
  revision,
  software,
  changesAllowed,
  ...(changesAllowedUntil === undefined ? {} : { changesAllowedUntil }),
});

/** The latest statement about a release counts. */
const withReleases = (cluster: Cluster, { releases: stated = [] }: EventData<'DesiredVersionsSet'>): Cluster => {
  if (stated.length === 0) return cluster;
  const others = (cluster.releases ?? []).filter(({ version }) => stated.every((one) => one.version !== version));
  return { ...cluster, releases: [...others, ...stated] };
};

/** Compares the agent's report with the desired state of the node. */
const reported = (
  cluster: Cluster,
  data: EventData<'NodeInitialized'> | EventData<'NodeReady'>,
  as: 'initialized' | 'ready',
): Cluster => {
  const desired = cluster.hosts[data.node]?.desired ?? null;
  const difference = desired === null ? undefined : differenceFrom(desired, data);
  if (difference === undefined)
    return withHost(cluster, data.node, { ...progress(cluster, data.node, as, true), trouble: null });
  const trouble = { operation: 'compare versions', target: data.node, message: difference };
  return withHost(cluster, data.node, { ...progress(cluster, data.node, as, false), trouble });
};

const readinessOf = (cluster: Cluster, node: NodeName, event: ReadinessEvent): Readiness =>
  readinessAfter(cluster.hosts[node] ?? { ready: false }, event);

const heldNames = ({ name, services = [] }: EventData<'TunnelStarted'>): Partial<Host> => ({
  publishes: name,
  publishedServices: services,
});

const progress = (cluster: Cluster, node: NodeName, as: 'initialized' | 'ready', is: boolean): Partial<Host> =>
  as === 'initialized' ? { initialized: is } : readinessOf(cluster, node, is ? 'NodeReady' : 'NodeNotReady');

/** What the list of Nodes shows, and the agent does not report; and the name of the API, before there are nodes. */
const evolveListed = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'NodeMissing':
    case 'NodeReturned':
    case 'NodeReadinessConfirmed':
      return withHost(cluster, event.data.node, readinessOf(cluster, event.data.node, event.type));
    case 'NodeReadinessContradicted': {
      const { node, message } = event.data;
      const trouble = { operation: 'KubernetesNotReady', target: node, message };
      return withHost(cluster, node, { ...readinessOf(cluster, node, event.type), trouble });
    }
    case 'EndpointReserved': {
      const { uid: _uid, ...published } = event.data;
      return { ...cluster, published };
    }
    case 'ServicesPublished': {
      const services = event.data.services.map(({ fqdn, address, port }) => ({ name: fqdn, address, port }));
      return { ...cluster, services };
    }
    default:
      return cluster;
  }
};

/** Hosts that were already settled keep their identity, so that only changes are written. */
const settleAll = (cluster: Cluster): Cluster => {
  const hosts = Object.fromEntries(
    Object.entries(cluster.hosts).map(([name, host]) => [
      name,
      host.ready && !host.settled ? { ...host, settled: true } : host,
    ]),
  );
  return { ...cluster, hosts };
};

const failedRestore = ({ abandoned }: Cluster, { requestId }: EventData<'EtcdRestoreFailed'>): Cluster['abandoned'] =>
  abandoned?.requestId === requestId ? { ...abandoned, failed: true } : abandoned;

const withoutSnapshot = (cluster: Cluster, { node, requestId }: EventData<'EtcdSnapshotRemoved'>): Cluster => {
  const { abandoned } = cluster;
  if (abandoned?.requestId !== requestId) return cluster;
  const nodes = abandoned.nodes.filter((name) => name !== node);
  return { ...cluster, abandoned: nodes.length === 0 ? null : { ...abandoned, nodes } };
};

const placed = (cluster: Cluster, { node, requestId }: EventData<'EtcdSnapshotPlaced'>): Cluster => {
  const { restore } = cluster;
  if (restore?.requestId !== requestId) return cluster;
  return { ...cluster, restore: { ...restore, missing: restore.missing.filter((name) => name !== node) } };
};

/** The first sealed kubeconfig is that of the initial control plane, whose agent reports first. */
const adminReported = (cluster: Cluster, { node, certificates }: EventData<'CertificatesReported'>): Cluster => {
  const adminEndsAt = certificates.find(({ name }) => name === 'admin.conf')?.expiresAt ?? null;
  const after = withHost(cluster, node, { adminEndsAt });
  return node === cluster.controlPlane?.node && cluster.kubeconfigEndsAt === null
    ? { ...after, kubeconfigEndsAt: adminEndsAt }
    : after;
};

const keyAdded = (cluster: Cluster, { node, keyRef, former }: EventData<'AuthorizedKeyAdded'>): Cluster => {
  const host = cluster.hosts[node];
  if (host === undefined) return cluster;
  const machine = { ...host.machine, ssh: { ...host.machine.ssh, keyRef } };
  const others = (host.formerKeys ?? []).filter((key) => key.keyRef !== former.keyRef);
  return withHost(cluster, node, { machine, formerKeys: [...others, former] });
};

const keyRemoved = (cluster: Cluster, { node, keyRef }: EventData<'AuthorizedKeyRemoved'>): Cluster => {
  const { formerKeys = [] } = cluster.hosts[node] ?? {};
  return withHost(cluster, node, { formerKeys: formerKeys.filter((key) => key.keyRef !== keyRef) });
};

/** Retries hosts whose key replacement failed. */
const withKeysUnstuck = (cluster: Cluster): Cluster => {
  const hosts = Object.entries(cluster.hosts).map(([name, host]): [string, Host] => {
    const { keyStuck, ...rest } = host;
    return [name, keyStuck === undefined ? host : rest];
  });
  return { ...cluster, hosts: Object.fromEntries(hosts) };
};

const keyDesired = (cluster: Cluster, event: EventData<'SshKeyReplacementRequested'>): Cluster => {
  const { connection, keyRef, publicKey, former } = event;
  const sshKeys = { ...cluster.sshKeys, [connection]: { keyRef, publicKey, former } };
  return { ...withKeysUnstuck(cluster), sshKeys };
};

/** The provider's balancer starts with every control plane that runs at that time. */
const initialTargets = (
  cluster: Cluster,
  { placement = 'provider' }: EventData<'LoadBalancerReady'>,
): Cluster['targets'] =>
  placement === 'provider' ? controlPlanesOf(cluster).map(({ machine }) => machine.name) : null;

const stepFailed = (
  cluster: Cluster,
  { step, node, nextAttemptAt }: EventData<'BootstrapStepFailed'>,
  time: string,
): Cluster => {
  if (node === undefined || nextAttemptAt !== null) return cluster;
  if (isKeyStep(step)) return withHost(cluster, node, { keyStuck: true });
  if (step === 'UpdateAgent') return { ...cluster, agentRefused: [...cluster.agentRefused, node] };
  // A surge machine that is not available is removed, without a wait.
  if (step !== 'RemoveNode') return isSurge(cluster, node) ? withHost(cluster, node, { removal: 'desired' }) : cluster;
  return withHost(cluster, node, stuck(cluster.hosts[node], time));
};

const onDrainBlocked = (cluster: Cluster, { node, since, pods }: EventData<'NodeDrainBlocked'>): Cluster =>
  withHost(cluster, node, { drainingSince: since, drainBlockedBy: drainBlockedBy(pods) });

/** Facts of this service. */
const evolveOwn = (cluster: Cluster, event: StoredEvent): Cluster => {
  const { time } = event.meta;
  switch (event.type) {
    case 'HostReached':
      return withHost(cluster, event.data.node, { hostKey: event.data.hostKey });
    case 'AgentStarted':
      return withHost(cluster, event.data.node, { agentStartedAt: time, agentSha256: event.data.sha256 });
    case 'AgentCredentialIssued':
      return issued(cluster, event.data);
    case 'AgentCredentialsRevoked':
      return revoked(cluster, event.data);
    case 'AgentUpdateRequested': {
      const { agentVersion: version, sha256 } = event.data;
      return { ...cluster, agent: { version, sha256 }, agentRefused: [] };
    }
    case 'AgentUpdated':
      return withHost(cluster, event.data.node, { agentSha256: event.data.sha256 });
    case 'NodeBootstrapped':
      return withHost(cluster, event.data.node, { bootstrapped: true });
    case 'ApiBalanced':
      return withHost(cluster, event.data.node, { balances: event.data.controlPlanes });
    case 'TunnelStarted':
      return withHost(cluster, event.data.node, heldNames(event.data));
    case 'EtcdReady':
      return { ...cluster, etcd: event.data.members };
    case 'EtcdMemberAdded': {
      const { node, address } = event.data;
      return { ...cluster, etcd: [...(cluster.etcd ?? []), { node, address }] };
    }
    case 'ControlPlaneInitialized': {
      const { node, endpoint, kubeconfigRef, caCertHash } = event.data;
      const controlPlane = { node, endpoint, kubeconfigRef, caCertHash };
      const kubeconfigEndsAt = cluster.hosts[node]?.adminEndsAt ?? null;
      return withHost({ ...cluster, controlPlane, kubeconfigEndsAt }, node, { joinedAt: time });
    }
    case 'KubeconfigRefreshed': {
      // The expiry in the certificate, not the reported one: an agent that reports a later expiry is not asked
      // repeatedly.
      const { node, expiresAt } = event.data;
      return withHost({ ...cluster, kubeconfigEndsAt: expiresAt }, node, { adminEndsAt: expiresAt });
    }
    case 'NetworkReady':
      return { ...cluster, network: true };
    case 'ControlPlaneJoined':
    case 'WorkerJoined':
      return withHost(cluster, event.data.node, { joinedAt: time });
    case 'ControlPlaneReady':
      return { ...cluster, healthy: event.data.nodes };
    case 'AddonInstalled':
      return { ...cluster, addons: { ...cluster.addons, [event.data.addon]: event.data.version } };
    case 'ClusterReady':
      return settleAll(cluster);
    case 'BootstrapStepFailed':
      return stepFailed(cluster, event.data, time);
    case 'AuthorizedKeyAdded':
      return keyAdded(cluster, event.data);
    case 'AuthorizedKeyRemoved':
      return keyRemoved(cluster, event.data);
    case 'EtcdSnapshotPlaced':
      return placed(cluster, event.data);
    case 'EtcdSnapshotRemoved':
      return withoutSnapshot(cluster, event.data);
    case 'NodeDrainBlocked':
      return onDrainBlocked(cluster, event.data);
    case 'NodeDrained':
      return withHost(cluster, event.data.node, { removal: 'drained' });
    case 'NodeRemoved':
      return withoutHost(cluster, event.data.node);
    default:
      return evolveTakeOver(cluster, event);
  }
};

/** Every desired step is requested again; kept nodes continue to join. */
const retried = (
  cluster: Cluster,
  { data: { correction }, meta: { time } }: StoredEvent<'ClusterRetryRequested'>,
): Cluster =>
  retriedHosts({
    ...withKeysUnstuck(withRenewalsDue(cluster, time)),
    spec: correction?.spec ?? cluster.spec,
    run: cluster.run + 1,
    runStartedAt: time,
    agentRefused: [],
  });

/** Assumed for credentials issued before their users were recorded. */
const LIFETIME_UNKNOWN_S = 24 * 3_600;

const withSilence = (cluster: Cluster, node: NodeName, since: string): Cluster => {
  const lifetimeSeconds = cluster.hosts[node]?.credentials?.lifetimeSeconds ?? LIFETIME_UNKNOWN_S;
  return withHost(cluster, node, { silence: { credentialEndsAt: later(since, lifetimeSeconds * 1_000) } });
};

const withoutSilence = (cluster: Cluster, node: NodeName): Cluster => {
  const { silence, ...host } = cluster.hosts[node] ?? {};
  return silence === undefined ? cluster : { ...cluster, hosts: { ...cluster.hosts, [node]: host as Host } };
};

/** A retry does not wait until the credentials of silent agents have expired. */
const withRenewalsDue = (cluster: Cluster, time: string): Cluster => {
  const hosts = Object.entries(cluster.hosts).map(([name, host]): [string, Host] => [
    name,
    host.silence === undefined ? host : { ...host, silence: { credentialEndsAt: time } },
  ]);
  return { ...cluster, hosts: Object.fromEntries(hosts) };
};

const evolveSilence = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'NodeLost':
      return withSilence(cluster, event.data.node, event.data.lastSeenAt ?? event.meta.time);
    case 'NodeRecovered':
      return withoutSilence(cluster, event.data.node);
    default:
      return cluster;
  }
};

/** A planned machine that is not announced yet is removed as soon as it is announced, if ever. */
const withRemoval = (cluster: Cluster, node: NodeName): Cluster => {
  if (cluster.hosts[node] !== undefined) return withHost(cluster, node, { removal: 'desired' });
  const isPlanned = Object.values(cluster.requests).some(({ nodes }) => nodes.includes(node));
  return isPlanned ? { ...cluster, unwanted: [...cluster.unwanted, node] } : cluster;
};

/** Keyed by the ID of its machine at the provider; a host without a provider has its own ID. */
const withAdmitted = (cluster: Cluster, { machine, hostId, user }: EventData<'HostAdmitted'>): Cluster => ({
  ...cluster,
  admitted: { ...cluster.admitted, [machine ?? hostId]: user },
});

/** Facts of the gateway, infra-svc, upgrade-svc and agents. */
const evolveOthers = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'ClusterRetryRequested':
      return retried(cluster, event as StoredEvent<'ClusterRetryRequested'>);
    case 'ClusterResumed': // Nothing was done on hosts while the cluster was paused.
      return { ...cluster, runStartedAt: event.meta.time };
    case 'HostAdmitted':
      return withAdmitted(cluster, event.data);
    case 'VmsCreated':
      return withMachines(cluster, event.data.machines);
    case 'LoadBalancerReady':
      return {
        ...cluster,
        endpoint: { host: event.data.host, port: event.data.port },
        balancedByNodes: event.data.placement === 'control-planes',
        targets: initialTargets(cluster, event.data),
      };
    case 'LoadBalancerUpdated':
      return { ...cluster, targets: event.data.targets };
    case 'SurgeRequested': {
      const key = surgeKey(event.data);
      return { ...cluster, surgesOver: cluster.surgesOver.filter((surge) => surge !== key) };
    }
    case 'SurgeReleased':
    case 'SurgeFailed':
      return endSurge(cluster, event.data);
    case 'VmAddressChanged':
      return moved(cluster, event.data);
    case 'VmDeleted':
      return withoutHost(cluster, event.data.name);
    case 'SshKeyReplacementRequested':
      return keyDesired(cluster, event.data);
    case 'NodeRemovalRequested':
      return withRemoval(cluster, event.data.node);
    case 'EtcdRestoreStarted': {
      const { requestId, snapshot, sha256, members } = event.data;
      const nodes = members.map(({ node }) => node);
      return {
        ...cluster,
        restore: { requestId, snapshot, sha256, missing: nodes },
        abandoned: { requestId, sha256, nodes, failed: false },
      };
    }
    case 'EtcdRestoreAdvanced':
      return event.data.step === 'place' ? cluster : { ...cluster, restore: null };
    case 'EtcdRestored':
      return { ...cluster, restore: null, abandoned: null };
    case 'EtcdRestoreFailed':
      return { ...cluster, restore: null, abandoned: failedRestore(cluster, event.data) };
    case 'DesiredVersionsSet':
      return withHost(withReleases(cluster, event.data), event.data.node, { desired: desiredOf(event.data) });
    case 'CertificatesReported':
      return adminReported(cluster, event.data);
    case 'NodeInitialized':
      return reported(cluster, event.data, 'initialized');
    case 'NodeReady':
      return reported(cluster, event.data, 'ready');
    case 'NodeInitializationFailed': {
      const { node, command, message } = event.data;
      return withHost(cluster, node, { trouble: { operation: command, target: node, message } });
    }
    case 'NodeNotReady': {
      const { node, reason, message } = event.data;
      const trouble = { operation: reason, target: node, message };
      return withHost(cluster, node, { ...readinessOf(cluster, node, event.type), trouble });
    }
    default:
      return evolveListed(evolveSilence(cluster, event), event);
  }
};

const evolveCluster = (cluster: Cluster, event: StoredEvent): Cluster => {
  const evolved = evolveOwn(cluster, event);
  const requested = evolveRequests(evolved === cluster ? evolveOthers(cluster, event) : evolved, event);
  const departed = evolveChanges(evolveAuthentication(evolveDepartures(requested, event), event), event);
  const reapplied = evolveRestored(evolveMetadata(departed, event), event);
  return withHooks(evolveVerifications(reapplied, event), cluster, event);
};

const withHooks = (cluster: Cluster, before: Cluster, event: StoredEvent): Cluster => {
  const hooks = hooksAfter(before.hooks, event, { isCreated: before.provisioned });
  if (hooks === cluster.hooks) return cluster;
  const { hooks: _before, ...others } = cluster;
  return hooks === undefined ? others : { ...others, hooks };
};

/** Applies the event to the status; `cluster` is the cluster after it. */
const evolveStatus = (before: Present, cluster: Cluster, event: StoredEvent): Bootstrap => {
  const isBuilding = before.status === 'building';
  const sameStatus: Bootstrap = cluster === before.cluster ? before : { ...before, cluster };
  switch (event.type) {
    case 'ClusterAccepted':
      return { ...before, cluster: { ...cluster, accepted: true } };
    case 'InfrastructureDeleted':
      return { ...before, cluster: { ...cluster, emptied: true } };
    case 'VmsCreated':
      return before.status === 'ready' && cluster.sets > before.cluster.sets ? building(cluster) : sameStatus;
    case 'ClusterRetryRequested': {
      const isGrowing = before.status === 'ready' && newHostsOf(cluster).length > 0;
      return before.status === 'failed' || isBuilding || isGrowing ? building(cluster) : sameStatus;
    }
    case 'InfrastructureFailed': {
      if (!isBuilding || cluster.provisioned) return before;
      const { step, reason, cause } = event.data;
      return { ...before, cluster, broken: { step, reason, cause } };
    }
    case 'ClusterReady':
      return { status: 'ready', cluster };
    case 'ClusterFailed': {
      const { step, node, reason, cause } = event.data;
      const failure = { step, reason, cause, ...(node === undefined ? {} : { node }) };
      return { status: 'failed', cluster, failure };
    }
    case 'NodeRemoved':
      return hasFailedBy(before, event.data.node) ? building(cluster) : sameStatus;
    case 'VmDeleted':
      return hasFailedBy(before, event.data.name) ? building(cluster) : sameStatus;
    case 'ClusterDeletionRequested':
      return before.status === 'dismantled' ? before : { status: 'deleting', cluster };
    case 'ClusterDismantled':
      return { status: 'dismantled', cluster };
    default: {
      const isWhole = isBuilding && cluster.provisioned && endsGrowth(event) && newHostsOf(cluster).length === 0;
      return isWhole ? { status: 'ready', cluster } : sameStatus;
    }
  }
};

/** Without such a node the others may be complete. */
const hasFailedBy = (before: Present, node: NodeName): boolean =>
  before.status === 'failed' && before.failure.node === node && before.cluster.hosts[node] !== undefined;

/** A deleted cluster is dropped; facts about another incarnation of the name are ignored. */
export const evolve = (state: Bootstrap, event: StoredEvent): Bootstrap => {
  if (event.type === 'ClusterRequested') {
    return state.status === 'absent' ? building(newCluster(event.data, event.meta.time)) : state;
  }
  if (state.status === 'absent') return state;
  const { cluster } = state;
  if (!('uid' in event.data) || event.data.uid !== cluster.uid) return state;
  if (event.type === 'ClusterDeleted') return ABSENT;
  return evolveStatus(state, evolveCluster(cluster, event), event);
};
