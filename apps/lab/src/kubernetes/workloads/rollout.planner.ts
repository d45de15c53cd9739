import { scaledValue } from '../objects/quantity.js';
import type { Deployment, ReplicaSet } from '../objects/workload.types.js';

/** A new size of a replica set. */
export interface Scaling {
  readonly replicaSet: ReplicaSet;
  readonly to: number;
}

export interface Rollout {
  readonly deployment: Deployment;
  /** The replica set of the current template. */
  readonly current: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
}

const desired = (replicaSet: ReplicaSet): number => replicaSet.spec.replicas ?? 0;
const available = (replicaSet: ReplicaSet): number => replicaSet.status?.availableReplicas ?? 0;
const sum = (replicaSets: readonly ReplicaSet[], count: (replicaSet: ReplicaSet) => number): number =>
  replicaSets.reduce((total, replicaSet) => total + count(replicaSet), 0);

/** How many pods may be above and below the desired number; never 0 for both, or the rollout could not progress. */
export const rolloutLimits = ({ spec }: Deployment): { readonly surge: number; readonly unavailable: number } => {
  const replicas = spec.replicas ?? 1;
  const { maxSurge = '25%', maxUnavailable = '25%' } = spec.strategy?.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, replicas, 'up');
  const unavailable = Math.min(scaledValue(maxUnavailable, replicas, 'down'), replicas);
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable };
};

/** The next scalings of a deployment (pkg/controller/deployment: rolling, recreate, and scaling while paused). */
export const planRollout = (rollout: Rollout): readonly Scaling[] => {
  const { deployment, current, old } = rollout;
  const all = current === undefined ? old : [current, ...old];
  if (deployment.spec.paused === true) return planPaused(deployment, all);
  if (current === undefined) return [];
  return deployment.spec.strategy?.type === 'Recreate'
    ? planRecreate(deployment, current, old)
    : planRolling(deployment, current, old);
};

/** While paused, only the size is applied. */
const planPaused = (deployment: Deployment, all: readonly ReplicaSet[]): readonly Scaling[] => {
  const active = all.filter((replicaSet) => desired(replicaSet) > 0);
  const [only] = active;
  const replicas = deployment.spec.replicas ?? 1;
  return only !== undefined && active.length === 1 && desired(only) !== replicas
    ? [{ replicaSet: only, to: replicas }]
    : [];
};

const planRecreate = (deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): readonly Scaling[] => {
  const running = old.filter((replicaSet) => desired(replicaSet) > 0);
  if (running.length > 0) return running.map((replicaSet) => ({ replicaSet, to: 0 }));
  const gone = sum(old, ({ status }) => status?.replicas ?? 0) === 0;
  const replicas = deployment.spec.replicas ?? 1;
  return gone && desired(current) !== replicas ? [{ replicaSet: current, to: replicas }] : [];
};

const planRolling = (deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): readonly Scaling[] => {
  const growth = planGrowth(deployment, current, old);
  return growth === undefined ? planShrinking(deployment, current, old) : [growth];
};

/** Scales the new replica set up as far as the surge allows, or down to the desired number. */
const planGrowth = (deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): Scaling | undefined => {
  const replicas = deployment.spec.replicas ?? 1;
  if (desired(current) > replicas) return { replicaSet: current, to: replicas };
  const headroom = replicas + rolloutLimits(deployment).surge - sum([current, ...old], desired);
  const growth = Math.min(headroom, replicas - desired(current));
  return growth > 0 ? { replicaSet: current, to: desired(current) + growth } : undefined;
};

/**
 * Scales the old replica sets down while enough pods are available: first unhealthy pods, then healthy ones, oldest set
 * first.
 */
const planShrinking = (deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): readonly Scaling[] => {
  const least = (deployment.spec.replicas ?? 1) - rolloutLimits(deployment).unavailable;
  const all = [current, ...old];
  const oldestFirst = [...old].sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
  const spare = sum(all, desired) - least - (desired(current) - available(current));
  const sick = taken(oldestFirst, spare, (replicaSet) => desired(replicaSet) - available(replicaSet));
  const left = (replicaSet: ReplicaSet): number => desired(replicaSet) - (sick.get(replicaSet) ?? 0);
  const healthySpare = Math.min(spare - total(sick), sum(all, available) - least);
  const healthy = taken(oldestFirst, healthySpare, left);
  return oldestFirst
    .map((replicaSet) => ({ replicaSet, to: left(replicaSet) - (healthy.get(replicaSet) ?? 0) }))
    .filter(({ replicaSet, to }) => to !== desired(replicaSet));
};

/** How many pods to take from each set, given the `spare` total and what each set can give. */
const taken = (
  replicaSets: readonly ReplicaSet[],
  spare: number,
  canGive: (replicaSet: ReplicaSet) => number,
): ReadonlyMap<ReplicaSet, number> => {
  const counts = new Map<ReplicaSet, number>();
  for (const replicaSet of replicaSets) {
    counts.set(replicaSet, Math.max(0, Math.min(spare - total(counts), canGive(replicaSet))));
  }
  return counts;
};

const total = (counts: ReadonlyMap<ReplicaSet, number>): number =>
  [...counts.values()].reduce((all, count) => all + count, 0);
