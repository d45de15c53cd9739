import { operationsOf, type ClusterState, type OperationProgress, type Upgrade } from './rollout.state.js';

/** A cluster, its upgrade, and the operations of the plan: the input of the rollout planners. */
export interface RolloutView {
  readonly cluster: ClusterState;
  readonly upgrade: Upgrade;
  /** In plan order; empty while there is no plan. */
  readonly operations: readonly TrackedOperation[];
}

/** An operation of the plan, its progress, and its rollout. */
export interface TrackedOperation extends OperationProgress {
  readonly rollout: RolloutView;
}

const viewOf = (cluster: ClusterState, upgrade: Upgrade): RolloutView => {
  const operations: TrackedOperation[] = [];
  const view: RolloutView = { cluster, upgrade, operations };
  operations.push(...operationsOf(upgrade).map((progress) => ({ ...progress, rollout: view })));
  return view;
};

const views = new WeakMap<ClusterState, RolloutView>();

/** null: no upgrade was requested. Cached per state, because every decision calls this many times. */
export const rolloutView = (cluster: ClusterState): RolloutView | null => {
  if (cluster.upgrade === null) return null;
  const known = views.get(cluster);
  if (known !== undefined) return known;
  const view = viewOf(cluster, cluster.upgrade);
  views.set(cluster, view);
  return view;
};
