import {
  machineAt,
  type EventData,
  type HookPoint,
  type MachinePlan,
  type NodeName,
  type StoredEvent,
} from '@fairlead/contracts';
import {
  declaredAfter,
  hooksAfter,
  identityAfter,
  NO_IDENTITY,
  NO_PUBLICATION,
  publicationAfter,
  replacementIn,
} from '@fairlead/domain';
import {
  NO_ADDITIONS,
  withAbandoned,
  withAnnounced,
  withFailed,
  withoutMachine,
  withoutRequest,
  withPlannedRequest,
  withRemovalDesired,
  withReplacement,
  withRequest,
  withRetry,
  type NodeRequests,
} from './node.requests.js';
import {
  targetsOf,
  unannouncedOf,
  type Balancer,
  type Cluster,
  type Deletion,
  type Machines,
  type PresentMachines,
} from './machines.state.js';
import { withNames } from './names.js';
import { reservationsAfter } from './reservations.js';
import { NO_ROLLOUTS, rolloutsAfter } from './rollouts.js';
import { NO_DRIFT, driftAfter } from './provider.drift.js';
import { NO_SURGES, withoutMachineOf, withoutSurge, withPlannedSurge, withRetriedSurges, withSurge } from './surges.js';

export const ABSENT: Machines = { status: 'absent' };

const fresh = (event: StoredEvent<'ClusterRequested'>): Machines => ({
  status: 'requested',
  cluster: {
    uid: event.data.uid,
    spec: event.data.spec,
    declared: declaredAfter(undefined, event),
    run: 1,
    planned: [],
    created: {},
    announced: {},
    additions: NO_ADDITIONS,
    surges: NO_SURGES,
    rollouts: NO_ROLLOUTS,
    balancer: null,
    rebalance: false,
    sights: NO_DRIFT,
    workersEver: 0,
    controlPlanesEver: 0,
    poolsEver: 0,
    drained: [],
    desiredSince: event.meta.time,
    remake: false,
    deletions: {},
  },
});

const begun = (time: string): Deletion => ({ failures: 0, beginsAt: time });

/** Makes everything that has failed due again. */
const retried = (cluster: Cluster, time: string): Cluster => ({
  ...cluster,
  additions: withRetry(cluster.additions),
  surges: withRetriedSurges(cluster.surges),
  deletions: Object.fromEntries(Object.keys(cluster.deletions).map((name) => [name, begun(time)])),
  desiredSince: time,
  remake: true,
});

const resumed = (state: PresentMachines, time: string): Machines => {
  const cluster = { ...state.cluster, run: state.cluster.run + 1 };
  switch (state.status) {
    case 'requested':
    case 'rejected':
      return { status: 'requested', cluster: { ...cluster, desiredSince: time } };
    case 'failed':
      return { status: state.resumesAs, cluster: retried(cluster, time) };
    case 'desired': // Same run: machines in creation are waited for, including those of a released surge.
      return { status: 'desired', cluster: retried(state.cluster, time) };
    case 'leaving':
      return { ...state, cluster, deletion: state.deletion === null ? null : begun(time) };
  }
};

/** Nothing of the cluster exists yet: the corrected request is validated again. */
const corrected = ({ cluster }: PresentMachines, spec: Cluster['spec'], time: string): Machines => {
  const { reservations: _none, ...others } = cluster;
  return { status: 'requested', cluster: { ...others, spec, run: cluster.run + 1, desiredSince: time } };
};

const failed = (state: PresentMachines): Machines => {
  const { cluster } = state;
  switch (state.status) {
    case 'requested':
      return { status: 'failed', cluster, resumesAs: 'requested' };
    case 'desired':
      return { status: 'failed', cluster: { ...cluster, remake: false }, resumesAs: 'desired' };
    case 'rejected':
    case 'failed':
    case 'leaving': // A deletion that failed remains a deletion.
      return state;
  }
};

const plannedFor = (
  cluster: Cluster,
  machines: readonly MachinePlan[],
  requestId: string,
): Readonly<Record<string, string>> => ({
  ...cluster.plannedFor,
  ...Object.fromEntries(machines.map(({ name }) => [name, requestId])),
});

const planned = (cluster: Cluster, { data, meta }: StoredEvent<'VmsPlanned'>): Cluster => {
  const workers = data.machines.filter(({ role }) => role === 'worker');
  const pools = new Set(workers.filter(({ surge }) => surge === undefined).map(({ pool }) => pool));
  return {
    ...cluster,
    planned: [...cluster.planned, ...data.machines],
    ...(data.requestId === undefined ? {} : { plannedFor: plannedFor(cluster, data.machines, data.requestId) }),
    surges: withPlannedSurge(cluster.surges, data.machines),
    additions: withPlannedRequest(cluster.additions, data),
    workersEver: cluster.workersEver + workers.length,
    controlPlanesEver: cluster.controlPlanesEver + data.machines.length - workers.length,
    poolsEver: cluster.poolsEver + pools.size,
    desiredSince: meta.time,
  };
};

const withoutKey = <T>(record: Readonly<Record<string, T>>, gone: string): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(record).filter(([key]) => key !== gone));

const without = (cluster: Cluster, gone: NodeName): Cluster => {
  const plan = cluster.planned.find(({ name }) => name === gone);
  return {
    ...cluster,
    created: withoutKey(cluster.created, gone),
    planned: cluster.planned.filter(({ name }) => name !== gone),
    ...(cluster.plannedFor === undefined ? {} : { plannedFor: withoutKey(cluster.plannedFor, gone) }),
    announced: withoutKey(cluster.announced, gone),
    drained: cluster.drained.filter((name) => name !== gone),
    surges: plan === undefined ? cluster.surges : withoutMachineOf(cluster.surges, plan),
    additions: withoutMachine(cluster.additions, gone),
    deletions: withoutKey(cluster.deletions, gone),
  };
};

/** Begins the deletion of those named machines that exist and are not being deleted yet. */
const withDeletions = (cluster: Cluster, names: readonly NodeName[], time: string): Cluster => {
  const exists = (name: NodeName): boolean => cluster.planned.some((plan) => plan.name === name);
  const fresh = names.filter((name) => cluster.deletions[name] === undefined && exists(name));
  if (fresh.length === 0) return cluster;
  const deletions = Object.fromEntries(fresh.map((name) => [name, begun(time)]));
  return { ...cluster, deletions: { ...cluster.deletions, ...deletions } };
};

const notDeleted = (cluster: Cluster, { machines, ...failure }: EventData<'VmDeletionFailed'>): Cluster => {
  const deletion: Deletion = { failures: failure.attempt, beginsAt: failure.nextAttemptAt };
  const deletions = Object.fromEntries(machines.map((name) => [name, deletion]));
  return { ...cluster, deletions: { ...cluster.deletions, ...deletions } };
};

/** The initial targets of the load balancer are all running control planes. */
const balanced = (cluster: Cluster, { host, placement = 'provider' }: EventData<'LoadBalancerReady'>): Balancer => ({
  host,
  placement,
  targets: targetsOf(cluster).map(({ name }) => name),
});

const withDrained = (cluster: Cluster, node: NodeName): Cluster => {
  const isControlPlane = cluster.created[node]?.role === 'control-plane';
  return isControlPlane && !cluster.drained.includes(node)
    ? { ...cluster, drained: [...cluster.drained, node] }
    : cluster;
};

/** Applies an event to the requests for more nodes. */
const additionsAfter = ({ additions, planned }: Cluster, event: StoredEvent): NodeRequests => {
  switch (event.type) {
    case 'NodesRequested':
      return withRequest(additions, event.data);
    case 'NodesRejected':
      return withoutRequest(additions, event.data.requestId);
    case 'VmsFailed':
      return withFailed(additions, event.data);
    case 'NodesAbandoned':
      return withAbandoned(additions, event.data.requestId);
    case 'NodeRemovalRequested':
      return withRemovalDesired(additions, event.data.node);
    case 'VmsCreated':
      return withAnnounced(additions, event.data);
    default: {
      const replacement = replacementIn(event);
      return replacement === undefined ? additions : withReplacement(additions, replacement, planned);
    }
  }
};

const withKey = (cluster: Cluster, { node, keyRef }: EventData<'AuthorizedKeyAdded'>): Cluster => {
  const machine = cluster.created[node];
  if (machine === undefined) return cluster;
  return { ...cluster, created: { ...cluster.created, [node]: { ...machine, ssh: { ...machine.ssh, keyRef } } } };
};

/** Applies an event to the rest of the state; most events change nothing. */
const clusterAfter = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'NodeDrained':
      return withDrained(cluster, event.data.node);
    case 'NodeRemoved':
      return withDeletions(cluster, [event.data.node], event.meta.time);
    case 'VmDeletionFailed':
      return notDeleted(cluster, event.data);
    case 'ClusterResumed':
      return limitsRestarted(cluster, event.meta.time);
    case 'SurgeRequested':
      return { ...cluster, surges: withSurge(cluster.surges, event.data) };
    case 'SurgeReleased':
    case 'SurgeFailed':
      return { ...cluster, surges: withoutSurge(cluster.surges, cluster.planned, event.data) };
    case 'VmsPlanned':
      return planned(cluster, event);
    case 'SshKeyReplacementRequested': {
      const { connection, keyRef } = event.data;
      return { ...cluster, replacements: { ...cluster.replacements, [connection]: keyRef } };
    }
    case 'AuthorizedKeyAdded':
      return withKey(cluster, event.data);
    case 'VmCreated':
      return { ...cluster, created: { ...cluster.created, [event.data.machine.name]: event.data.machine } };
    case 'VmsCreated':
      return {
        ...cluster,
        announced: withNames(
          cluster.announced,
          event.data.machines.map(({ name }) => name),
        ),
      };
    case 'VmAddressChanged': {
      const machine = cluster.created[event.data.node];
      if (machine === undefined) return cluster;
      const created = { ...cluster.created, [machine.name]: machineAt(machine, event.data) };
      return { ...cluster, created, rebalance: cluster.rebalance || machine.role === 'control-plane' };
    }
    case 'LoadBalancerReady':
      return { ...cluster, balancer: balanced(cluster, event.data), rebalance: false };
    case 'LoadBalancerUpdated':
      return cluster.balancer === null
        ? cluster
        : { ...cluster, balancer: { ...cluster.balancer, targets: event.data.targets } };
    case 'LoadBalancerDeleted':
      return { ...cluster, balancer: null };
    case 'VmDeleted':
      return without(cluster, event.data.name);
    default:
      return cluster;
  }
};

/**
 * No request was made to the provider while the cluster was paused, so its time limits restart. Later attempts keep
 * their time.
 */
const limitsRestarted = (cluster: Cluster, time: string): Cluster => {
  const deletions = Object.entries(cluster.deletions).map(([name, deletion]): [string, Deletion] => [
    name,
    deletion.beginsAt > time ? deletion : { ...deletion, beginsAt: time },
  ]);
  return { ...cluster, desiredSince: time, deletions: Object.fromEntries(deletions) };
};

/** Only hooks that block this service matter here. */
const HOLDING: ReadonlySet<string> = new Set<HookPoint>(['BeforeCreate', 'AfterClusterDelete']);

const hooksOf = ({ hooks }: Cluster, event: StoredEvent): Cluster['hooks'] => {
  switch (event.type) {
    case 'HookBlocked':
    case 'HookSucceeded':
    case 'HookFailed':
    case 'HookSkipped':
      return HOLDING.has(event.data.point) ? hooksAfter(hooks, event, { isCreated: true }) : hooks;
    case 'ClusterSpecChanged':
      return hooksAfter(hooks, event, { isCreated: true });
    default:
      return hooks;
  }
};

/** Omits the field for clusters without identity providers. */
const withIdentity = ({ identity = NO_IDENTITY }: Cluster, event: StoredEvent): Pick<Cluster, 'identity'> => {
  const changed = identityAfter(identity, event);
  return changed === NO_IDENTITY ? {} : { identity: changed };
};

const withPublication = (
  { publication = NO_PUBLICATION }: Cluster,
  event: StoredEvent,
): Pick<Cluster, 'publication'> => {
  const changed = publicationAfter(publication, event);
  return changed === NO_PUBLICATION ? {} : { publication: changed };
};

const after = (cluster: Cluster, event: StoredEvent): Cluster => {
  const additions = additionsAfter(cluster, event);
  const declared = declaredAfter(cluster.declared, event);
  const isThere = (name: string): boolean => cluster.planned.some((plan) => plan.name === name);
  const parts = {
    additions,
    declared,
    rollouts: rolloutsAfter(cluster.rollouts, event, isThere),
    sights: driftAfter(cluster.sights, event, cluster.announced),
    hooks: hooksOf(cluster, event),
    reservations: reservationsAfter(cluster.reservations, event),
    ...withIdentity(cluster, event),
    ...withPublication(cluster, event),
  };
  const isSame = (Object.keys(parts) as (keyof typeof parts)[]).every((part) => parts[part] === cluster[part]);
  const changed = clusterAfter(isSame ? cluster : { ...cluster, ...parts }, event);
  if (changed === cluster) return cluster;
  const givenUp = unannouncedOf(changed).map(({ name }) => name);
  return withDeletions(changed, givenUp, event.meta.time);
};

/** Applies the events of one incarnation. */
const evolvePresent = (state: PresentMachines, event: StoredEvent): Machines => {
  const { cluster } = state;
  switch (event.type) {
    case 'ClusterRetryRequested': {
      const { correction } = event.data;
      if (correction !== undefined) return corrected(state, correction.spec, event.meta.time);
      const rollouts = rolloutsAfter(cluster.rollouts, event, () => true);
      const reservations = reservationsAfter(cluster.reservations, event);
      return resumed({ ...state, cluster: { ...cluster, rollouts, reservations } }, event.meta.time);
    }
    case 'ClusterDeletionRequested':
      return { status: 'leaving', cluster: { ...cluster, run: cluster.run + 1 }, deletion: null };
    case 'ClusterDismantled':
      return { status: 'leaving', cluster, deletion: begun(event.meta.time) };
    case 'ClusterAccepted':
      return { status: 'desired', cluster: { ...cluster, reservations: reservationsAfter(undefined, event) } };
    case 'ClusterRejected':
      return { status: 'rejected', cluster };
    case 'InfrastructureFailed':
      return failed(state);
    case 'InfrastructureDeleted':
      return { status: 'leaving', cluster, deletion: null, emptied: true };
    case 'ClusterDeleted':
      return ABSENT;
    case 'VmDeletionFailed':
      if (state.status !== 'leaving') break;
      return { ...state, deletion: { failures: event.data.attempt, beginsAt: event.data.nextAttemptAt } };
    default:
      break;
  }
  const changed = after(cluster, event);
  return changed === cluster ? state : { ...state, cluster: changed };
};

const uidOf = (event: StoredEvent): string | undefined => ('uid' in event.data ? event.data.uid : undefined);

/**
 * Also reads what other services state about the cluster (the request, removed nodes, the dismantling). A request after
 * a deletion starts afresh; events of another incarnation are ignored.
 */
export const evolve = (state: Machines, event: StoredEvent): Machines => {
  if (event.type === 'ClusterRequested') return state.status === 'absent' ? fresh(event) : state;
  if (state.status === 'absent' || state.cluster.uid !== uidOf(event)) return state;
  return evolvePresent(state, event);
};
