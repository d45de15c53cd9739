import { without, type EventData, type StoredEvent } from '@fairlead/contracts';
import { savesAfter, upgradeHooksAfter } from '@fairlead/domain';
import { evolveCluster } from './cluster.evolve.js';
import { evolvePause } from './pause.evolve.js';
import { ABSENT, isOpen, isWaiting, newCluster, type ClusterState, type Rollout } from './rollout.state.js';
import { evolveUpgrade, learn, newUpgrade } from './upgrade.evolve.js';

/**
 * One upgrade at a time (B1): an open one continues. A declared one replaces a waiting one, or is queued; any other
 * request is rejected.
 */
const withRequest = (cluster: ClusterState, request: EventData<'UpgradeRequested'>): ClusterState => {
  const { upgrade, nextUpgrade, refusedUpgrades, superseded } = cluster;
  if (upgrade === null || !isOpen(upgrade)) return { ...cluster, upgrade: newUpgrade(request, cluster) };
  if (request.declared !== true) return { ...cluster, refusedUpgrades: [...refusedUpgrades, request.upgradeId] };
  const before = isWaiting(upgrade) ? upgrade.id : nextUpgrade?.request.upgradeId;
  const given =
    before === undefined ? cluster : { ...cluster, superseded: { ...superseded, [before]: request.upgradeId } };
  return isWaiting(upgrade)
    ? { ...given, upgrade: newUpgrade(request, cluster) }
    : { ...given, nextUpgrade: { request, isStated: false } };
};

/** The queued upgrade starts when the previous one has ended and left nothing on nodes. */
const withNext = (cluster: ClusterState): ClusterState => {
  const { nextUpgrade, ...others } = cluster;
  const { upgrade, nodes } = cluster;
  if (nextUpgrade === undefined || upgrade === null || isOpen(upgrade)) return cluster;
  const isClean = upgrade.marked.length === 0 && Object.values(nodes).every(({ desired }) => !desired?.probes.length);
  return isClean ? { ...others, upgrade: newUpgrade(nextUpgrade.request, cluster) } : cluster;
};

const withUpgrade = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  const { upgrade } = cluster;
  if (event.type === 'UpgradeRequested') return withRequest(cluster, event.data);
  if (event.type === 'RolloutAborted' && cluster.superseded?.[event.data.upgradeId] !== undefined)
    return { ...cluster, superseded: without(cluster.superseded, event.data.upgradeId) };
  if (event.type === 'UpgradeWaiting' && cluster.nextUpgrade?.request.upgradeId === event.data.upgradeId)
    return { ...cluster, nextUpgrade: { ...cluster.nextUpgrade, isStated: true } };
  if (event.type === 'UpgradeRejected' && cluster.refusedUpgrades.includes(event.data.upgradeId))
    return { ...cluster, refusedUpgrades: cluster.refusedUpgrades.filter((id) => id !== event.data.upgradeId) };
  if (upgrade === null) return cluster;
  const evolved = evolveUpgrade(cluster, upgrade, event);
  return evolved === upgrade ? cluster : { ...cluster, upgrade: evolved };
};

/** The version of the cluster is that of its control planes; new machines are created with it. */
const withVersion = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  const corrected = event.type === 'ClusterRetryRequested' ? event.data.correction : undefined;
  if (corrected !== undefined) return { ...cluster, version: corrected.spec.kubernetes.version };
  if (event.type !== 'OperationCompleted') return cluster;
  const operation = cluster.upgrade?.plan?.operations.find(({ id }) => id === event.data.operation);
  const version = operation?.kind === 'addons' ? operation.to['kubernetes'] : undefined;
  return version === undefined ? cluster : { ...cluster, version: version as ClusterState['version'] };
};

/** Only of a node that is kept: surge nodes are drained again when they leave, and their hooks are called then. */
const isDrain = ({ upgrade }: ClusterState, event: StoredEvent): boolean =>
  event.type === 'NodeEmptied' &&
  upgrade?.plan?.operations.some(({ id, node, drain }) => id === event.data.operation && node !== null && drain) ===
    true;

/** An upgrade rejected because another one is open does not affect hooks: it has no plan. */
const withHooks = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  const { hooks: before, ...others } = cluster;
  const hooks = upgradeHooksAfter(before, event, { isDrain: isDrain(cluster, event) });
  if (hooks === before) return cluster;
  return hooks === undefined ? others : { ...others, hooks };
};

const withSaves = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  const saves = savesAfter(cluster.saves, event);
  return saves === cluster.saves ? cluster : { ...cluster, saves };
};

/** Everything that a rollout depends on, folded from all events of the cluster. A deleted cluster is dropped. */
export const evolve = (state: Rollout, event: StoredEvent): Rollout => {
  if (event.type === 'ClusterRequested') return state.status === 'absent' ? newCluster(event.data) : state;
  if (state.status === 'absent') return state;
  if (!('uid' in event.data) || event.data.uid !== state.uid) return state;
  if (event.type === 'ClusterDeleted') return ABSENT;
  const known = withSaves(learn(evolvePause(state, event), event), event);
  const evolved = withUpgrade(evolveCluster(known, event), event);
  return withNext(withVersion(withHooks(evolved, event), event));
};
