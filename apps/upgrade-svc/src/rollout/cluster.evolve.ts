import {
  CONTROL_PLANE_POOL,
  controlPlaneSurge,
  isReplacedForVersions,
  rolloutLimits,
  rolloutOf,
  type DeclaredSpec,
  type EventData,
  type Machine,
  type MachinePlan,
  type NodeName,
  type StoredEvent,
} from '@fairlead/contracts';
import { healthAfter, isHealthEvent, leavingIn, replacementIn, type HealthEvent } from '@fairlead/domain';
import { addonStandingsAfter, type AddonStandings } from '../rules/addon.standings.js';
import { withHold } from '../holds/holds.js';
import type { SurgeMachine, ClusterState, RolloutNode } from './rollout.state.js';
import { isUnhealthy } from './rollout.state.js';

const newNode = ({ name, role, pool }: Machine): RolloutNode => ({
  name,
  role,
  pool,
  desired: null,
  software: {},
  ready: false,
  readyRevision: 0,
  lost: false,
  unwellSince: null,
  readySince: null,
});

const withNode = (
  cluster: ClusterState,
  name: NodeName,
  time: string,
  change: (node: RolloutNode) => Partial<RolloutNode>,
): ClusterState => {
  const node = cluster.nodes[name];
  if (node === undefined) return cluster; // Already removed, or not a node of this cluster.
  const changed = { ...node, ...change(node) };
  const unwellSince = isUnhealthy(changed) ? (node.unwellSince ?? time) : null;
  const isUp = changed.ready && !changed.lost;
  const readySince = isUp ? (node.ready && !node.lost ? node.readySince : time) : null;
  return { ...cluster, nodes: { ...cluster.nodes, [name]: { ...changed, unwellSince, readySince } } };
};

const withMachines = (cluster: ClusterState, machines: readonly Machine[]): ClusterState => {
  const fresh = machines.filter(({ name }) => cluster.nodes[name] === undefined);
  if (fresh.length === 0) return cluster;
  const nodes = Object.fromEntries(fresh.map((machine) => [machine.name, newNode(machine)]));
  return { ...cluster, life: 'building', nodes: { ...cluster.nodes, ...nodes } };
};

const repairing = (cluster: ClusterState, key: string, sentence: string): ClusterState => ({
  ...cluster,
  repairs: { ...cluster.repairs, [key]: sentence },
});

const repaired = (cluster: ClusterState, ...keys: readonly string[]): ClusterState => {
  if (!keys.some((key) => cluster.repairs[key] !== undefined)) return cluster;
  return {
    ...cluster,
    repairs: Object.fromEntries(Object.entries(cluster.repairs).filter(([key]) => !keys.includes(key))),
  };
};

const withoutNode = (cluster: ClusterState, name: NodeName): ClusterState => {
  const { [name]: _gone, ...nodes } = cluster.nodes;
  return repaired({ ...cluster, nodes }, `remove/${name}`);
};

/** Nodes that are kept do not delay anything, and abandoned ones leave. */
const additionEnded = (
  cluster: ClusterState,
  event: StoredEvent<'VmsFailed' | 'NodesAbandoned' | 'NodesFailed'>,
): ClusterState => {
  const life = cluster.life === 'building' ? 'ready' : cluster.life;
  return repaired({ ...cluster, life }, 'nodes', replaceKey(event.data.requestId));
};

const removing = (cluster: ClusterState, name: NodeName): ClusterState =>
  cluster.nodes[name] === undefined ? cluster : repairing(cluster, `remove/${name}`, `${name} is being removed`);

const ROLLOUT = 'rollout/';
const poolKey = (pool: string): string => `${ROLLOUT}${pool}`;
const replaceKey = (requestId: string): string => `replace/${requestId}`;

/**
 * A replacement, until its new node is part of the cluster. Each removal is a separate repair, except that of a surge
 * node, which is part of its upgrade.
 */
const evolveReplacements = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  const replacement = replacementIn(event);
  const isKnown = replacement !== undefined && cluster.nodes[replacement.node] !== undefined;
  const begun = isKnown
    ? repairing(cluster, replaceKey(replacement.requestId), `${replacement.node} is being replaced`)
    : cluster;
  const ended =
    event.type === 'NodeReplacementReady' || event.type === 'NodesRejected'
      ? repaired(begun, replaceKey(event.data.requestId))
      : begun;
  return event.type === 'SurgeReleased' ? ended : leavingIn(event).reduce(removing, ended);
};

/** Joins, removals and restores: no upgrade starts during them (B1). */
const evolveRepairs = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  switch (event.type) {
    case 'NodesRequested':
      return repairing(cluster, 'nodes', 'more workers are joining');
    case 'NodesRejected':
      return repaired(cluster, 'nodes');
    case 'NodesAbandoned': // Abandons everything that is not done, rollouts of pools included.
      return additionEnded(
        repaired(cluster, ...Object.keys(cluster.repairs).filter((key) => key.startsWith(ROLLOUT))),
        event,
      );
    case 'VmsFailed':
    case 'NodesFailed':
      return additionEnded(cluster, event);
    case 'ClusterRetryRequested': {
      const isKept = Object.values(cluster.nodes).some(({ readyRevision }) => readyRevision === 0);
      return isKept && cluster.life === 'ready' ? repairing(cluster, 'nodes', 'more workers are joining') : cluster;
    }
    case 'PoolRolloutRequested':
      return repairing(cluster, poolKey(event.data.pool), `the nodes of pool ${event.data.pool} are being replaced`);
    case 'PoolRolloutCompleted':
    case 'PoolRolloutFailed':
      return repaired(cluster, poolKey(event.data.pool));
    case 'NodeRemovalRequested':
      return repairing(cluster, `remove/${event.data.node}`, `${event.data.node} is being removed`);
    case 'NodeRemovalCancelled':
      return repaired(cluster, `remove/${event.data.node}`);
    case 'NodeRemoved':
      return withoutNode(cluster, event.data.node);
    case 'VmDeleted':
      return withoutNode(cluster, event.data.name);
    case 'EtcdRestoreRequested':
      return repairing(cluster, 'restore', 'etcd is being restored from a snapshot');
    case 'EtcdRestored':
    case 'EtcdRestoreFailed':
      return repaired(cluster, 'restore');
    case 'RemediationRequested': {
      const { requestId, node, action } = event.data;
      return action === 'reboot' ? repairing(cluster, requestId, `${node} is being rebooted`) : cluster;
    }
    case 'DriftRepairRequested': {
      const { requestId, node, drain } = event.data;
      return drain === true ? repairing(cluster, requestId, `${node} is drained for a repair of drift`) : cluster;
    }
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided':
    case 'RemediationSucceeded':
    case 'RemediationFailed':
      return repaired(cluster, event.data.requestId);
    case 'BootstrapStepFailed': {
      const { step, node, nextAttemptAt } = event.data;
      return step === 'RemoveNode' && node !== undefined && nextAttemptAt === null
        ? repaired(cluster, `remove/${node}`)
        : cluster;
    }
    default:
      return cluster;
  }
};

type Surge = ClusterState['extra'];

const changed = (extra: Surge, change: Partial<SurgeMachine>, concerns: (machine: SurgeMachine) => boolean): Surge =>
  Object.fromEntries(
    Object.entries(extra).map(([name, machine]) => [name, concerns(machine) ? { ...machine, ...change } : machine]),
  );

/** A machine planned after the end of its surge is removed at once. */
const extraPlanned = ({ upgrade }: ClusterState, machines: readonly MachinePlan[]): Surge =>
  Object.fromEntries(
    machines.flatMap(({ name, pool, surge }): [string, SurgeMachine][] => {
      if (surge === undefined) return [];
      const desired = upgrade?.id === surge && upgrade.surging.includes(pool);
      return [[name, { name, upgradeId: surge, pool, leaving: !desired, returnedBy: null, stuckSince: null }]];
    }),
  );

/** Machines beyond the requested size of their pools. */
const evolveSurge = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  const { extra } = cluster;
  switch (event.type) {
    case 'VmsPlanned':
      return { ...cluster, extra: { ...extra, ...extraPlanned(cluster, event.data.machines) } };
    case 'SurgeReleased':
    case 'SurgeFailed': {
      const { upgradeId, pool } = event.data;
      const returned = event.type === 'SurgeReleased' ? { returnedBy: event.data.operation, stuckSince: null } : {};
      const isOfIt = (one: SurgeMachine): boolean => one.upgradeId === upgradeId && one.pool === pool;
      return { ...cluster, extra: changed(extra, { ...returned, leaving: true }, isOfIt) };
    }
    case 'BootstrapStepFailed': {
      const { step, node, nextAttemptAt } = event.data;
      if (node === undefined || nextAttemptAt !== null) return cluster;
      const change = step === 'RemoveNode' ? { stuckSince: event.meta.time } : { leaving: true };
      return { ...cluster, extra: changed(extra, change, ({ name }) => name === node) };
    }
    case 'VmDeleted': {
      const { [event.data.name]: _gone, ...others } = extra;
      return { ...cluster, extra: others };
    }
    default:
      return cluster;
  }
};

const withHealth = (cluster: ClusterState, event: StoredEvent<HealthEvent>): ClusterState =>
  withNode(cluster, event.data.node, event.meta.time, (before) => {
    const health = healthAfter(before, event.type);
    if (event.type !== 'NodeReady') return health;
    const { revision, software } = event.data as EventData<'NodeReady'>;
    return { ...health, readyRevision: revision, software };
  });

/** Reports by agents and heartbeats. */
const evolveNodes = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  const { time } = event.meta;
  if (isHealthEvent(event)) return withHealth(cluster, event);
  switch (event.type) {
    case 'DesiredVersionsSet': {
      const { node, revision, software, changesAllowed, changesAllowedUntil, probes = [] } = event.data;
      const until = changesAllowedUntil === undefined ? {} : { changesAllowedUntil };
      const desired = { revision, software, changesAllowed, ...until, probes };
      return withNode(cluster, node, time, () => ({ desired }));
    }
    case 'NodeInitialized':
      return withNode(cluster, event.data.node, time, () => ({ software: event.data.software }));
    case 'VersionChanged':
      return withNode(cluster, event.data.node, time, () => ({ software: event.data.after }));
    default:
      return cluster;
  }
};

/** The limits of pools whose nodes are replaced for another version. */
const replacedIn = ({ controlPlane, pools }: DeclaredSpec): NonNullable<ClusterState['replaced']> => {
  const surge = controlPlaneSurge(controlPlane);
  return Object.fromEntries([
    ...(isReplacedForVersions(controlPlane) ? [[CONTROL_PLANE_POOL, { surge, unavailable: 1 - surge }] as const] : []),
    ...pools
      .filter(isReplacedForVersions)
      .map((pool) => [pool.name, rolloutLimits(rolloutOf(pool), pool.replicas)] as const),
  ]);
};

/** The latest declared settings for drains, for the availability of nodes, and for their replacement. */
const withDeclared = (
  { drain: _drain, minReady: _minReady, replaced: _replaced, ...cluster }: ClusterState,
  spec: DeclaredSpec,
): ClusterState => {
  const { drain, pools } = spec;
  const replaced = replacedIn(spec);
  const minReady = pools.flatMap(({ name, minReadySeconds = 0 }) =>
    minReadySeconds === 0 ? [] : [[name, minReadySeconds] as const],
  );
  return {
    ...cluster,
    ...(drain === undefined ? {} : { drain }),
    ...(minReady.length === 0 ? {} : { minReady: Object.fromEntries(minReady) }),
    ...(Object.keys(replaced).length === 0 ? {} : { replaced }),
  };
};

const evolveMachines = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  switch (event.type) {
    case 'VmsCreated':
      return withMachines(cluster, event.data.machines);
    case 'LoadBalancerReady':
      return { ...cluster, endpoint: `https://${event.data.host}:${event.data.port}` };
    case 'ClusterReady':
      return repaired({ ...cluster, life: 'ready' }, 'nodes');
    case 'ClusterFailed':
      return repaired({ ...cluster, life: 'failed' }, 'nodes');
    case 'ClusterDeletionRequested':
      return { ...cluster, life: 'deleting' };
    case 'ClusterSpecChanged':
      return withDeclared(cluster, event.data.spec);
    case 'UpdatesDisabledSet':
      return { ...cluster, holds: withHold(cluster.holds, event.data) };
    default: {
      const changed = evolveRepairs(evolveReplacements(cluster, event), event);
      return changed === cluster ? evolveNodes(cluster, event) : changed;
    }
  }
};

/** The state of the cluster apart from its upgrade. */
export const evolveCluster = (cluster: ClusterState, event: StoredEvent): ClusterState =>
  evolveAddons(evolveMachines(evolveSurge(cluster, event), event), event);

const evolveAddons = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  const { addons: before = NO_ADDONS, ...others } = cluster;
  const addons = addonStandingsAfter(before, event);
  if (addons === before) return cluster;
  return Object.keys(addons).length === 0 ? others : { ...others, addons };
};

const NO_ADDONS: AddonStandings = {};
