import { NO_OWN_RELEASES, type OwnReleases } from '@fairlead/domain';
import type { PlanInput } from '../plan/plan.request.js';
import { dryRunOf, planUpgrade, type Check, type DryRunRequest } from '../plan/upgrade.planner.js';
import type { ClusterFacts } from '../rules/cluster.facts.js';
import type { ClusterState } from './rollout.state.js';
import type { RolloutView } from './rollout.view.js';

/** Repairs, and surge nodes that an earlier upgrade released: no upgrade starts during them (B1). */
export const underWay = ({ repairs, extra }: ClusterState): readonly string[] => [
  ...Object.values(repairs),
  ...Object.values(extra).flatMap(({ name, upgradeId, leaving }) =>
    leaving ? [`${name}, a surge node of ${upgradeId}, is being removed`] : [],
  ),
];

const inputOf = (
  { cluster, upgrade }: RolloutView,
  facts: ClusterFacts,
  own: OwnReleases = NO_OWN_RELEASES,
): PlanInput => {
  const { target, pools, controlPlane, strategy } = upgrade.request;
  return {
    request: { upgradeId: upgrade.id, target, pools, controlPlane, strategy, overridden: upgrade.overridden },
    facts,
    holds: cluster.holds,
    ...(cluster.replaced === undefined ? {} : { replaced: cluster.replaced }),
    addons: Object.values(cluster.addons ?? {}),
    underWay: { operations: underWay(cluster), clusterReady: cluster.life === 'ready' },
    version: cluster.version,
    endpoint: cluster.endpoint,
    own,
    durations: cluster.durations,
  };
};

/** The result of CheckUpgrade: the plan for the cluster's open upgrade, or the findings that block it. */
export const checkUpgrade = (view: RolloutView, facts: ClusterFacts, own?: OwnReleases): Check =>
  planUpgrade(inputOf(view, facts, own));

/** The kubeadm dry run that precedes the check; null: none. */
export const dryRunFor = (view: RolloutView, facts: ClusterFacts, own?: OwnReleases): DryRunRequest | null =>
  dryRunOf(inputOf(view, facts, own));
