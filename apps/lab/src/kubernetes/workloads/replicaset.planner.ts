import { again, create, event, remove, replace, type Operation } from '../operations/operation.js';
import { isActive, isReady, type Pod } from '../objects/core.types.js';
import type { ReplicaSet } from '../objects/workload.types.js';
import { PODS, REPLICA_SETS } from '../resources/builtin.resources.js';
import { isAvailable, nextAvailableMs } from './availability.js';
import { podFromTemplate } from './pod.template.js';

export interface ReplicaSetWorld {
  readonly replicaSet: ReplicaSet;
  /** The pods that it controls. */
  readonly pods: readonly Pod[];
  readonly nowMs: number;
}

/** Kubernetes' BurstReplicas: how many pods one sync of a replica set creates or deletes at most. */
const BURST_MAX = 500;

/** Creates or deletes pods to match the desired number, and reports the status. */
export const planReplicaSet = (world: ReplicaSetWorld): readonly Operation[] => {
  const { replicaSet } = world;
  if (replicaSet.metadata.deletionTimestamp !== undefined) return [];
  const active = world.pods.filter(isActive);
  const surplus = active.length - (replicaSet.spec.replicas ?? 1);
  if (surplus < 0) return [...grow(replicaSet, -surplus), ...report(world, active)];
  const spared = byWorth(active).slice(0, Math.min(surplus, BURST_MAX));
  // A pod that this plan deletes must not be reported as available, because a rollout would rely on it.
  const left = active.filter((pod) => !spared.includes(pod));
  return [...shrink(replicaSet, spared), ...report(world, left)];
};

const grow = (replicaSet: ReplicaSet, missing: number): readonly Operation[] => {
  const count = Math.min(missing, BURST_MAX);
  return Array.from({ length: count }, () =>
    create(
      PODS,
      podFromTemplate(replicaSet, replicaSet.spec.template),
      `${replicaSet.metadata.name} wants ${missing} more`,
    ),
  );
};

const shrink = (replicaSet: ReplicaSet, spared: readonly Pod[]): readonly Operation[] =>
  spared.flatMap((pod) => [
    remove(PODS, pod, `${replicaSet.metadata.name} has too many`),
    event(replicaSet, 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`),
  ]);

/** The pods in the order in which they are deleted (pkg/controller, ActivePodsWithRanks). */
export const byWorth = (pods: readonly Pod[]): readonly Pod[] => {
  const onNode = new Map<string, number>();
  for (const { spec } of pods) onNode.set(spec.nodeName ?? '', (onNode.get(spec.nodeName ?? '') ?? 0) + 1);
  const rank = (pod: Pod): readonly number[] => [
    pod.spec.nodeName === undefined ? 0 : 1,
    pod.status?.phase === 'Running' ? 1 : 0,
    isReady(pod) ? 1 : 0,
    Number(pod.metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0),
    -(onNode.get(pod.spec.nodeName ?? '') ?? 0),
  ];
  // Among equals, the newer one is deleted first.
  return [...pods].sort(
    (a, b) => compare(rank(a), rank(b)) || (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1),
  );
};

const compare = (a: readonly number[], b: readonly number[]): number => {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
};

const report = ({ replicaSet, nowMs }: ReplicaSetWorld, active: readonly Pod[]): readonly Operation[] => {
  const { minReadySeconds = 0 } = replicaSet.spec;
  const status = {
    ...replicaSet.status,
    replicas: active.length,
    fullyLabeledReplicas: active.length,
    readyReplicas: active.filter(isReady).length,
    availableReplicas: active.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length,
    observedGeneration: replicaSet.metadata.generation ?? 1,
  };
  const nextMs = minReadySeconds === 0 ? undefined : nextAvailableMs(active, minReadySeconds, nowMs);
  return [
    replace(REPLICA_SETS, { ...replicaSet, status }, 'the status follows the pods'),
    ...(nextMs === undefined ? [] : [again(nextMs)]),
  ];
};
