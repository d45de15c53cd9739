import { KUBERNETES_RELEASES } from '@fairlead/contracts';
import { planUpgrade, type Check } from '../plan/upgrade.planner.js';
import type { ClusterFacts } from '../rules/cluster.facts.js';
import type { KnownCluster, Upgrade } from './rollout.state.js';

/** infra-svc makes no machines for roll-outs yet; a plan that needs them is refused instead of waiting in vain. */
const SURGE_AVAILABLE = false;

/** The plan for the open upgrade of a cluster, or why there can be none. What CheckUpgrade answers. */
export const checkUpgrade = (cluster: KnownCluster, upgrade: Upgrade, facts: ClusterFacts): Check => {
  const { target, pools, controlPlane, strategy } = upgrade.wish;
  return planUpgrade({
    wish: { upgradeId: upgrade.id, target, pools, controlPlane, strategy, overridden: upgrade.overridden },
    facts,
    holds: cluster.holds,
    underWay: { operations: Object.values(cluster.repairs), clusterReady: cluster.life === 'ready' },
    endpoint: cluster.endpoint,
    releases: KUBERNETES_RELEASES,
    durations: cluster.durations,
    surgeAvailable: SURGE_AVAILABLE,
  });
};
