import { isReady, type Pod, type PodDisruptionBudget } from '../objects/core.types.js';
import { matchesSelector } from '../objects/label.selector.js';

export type EvictionVerdict =
  | { readonly verdict: 'evict' }
  /** Evict after recording the eviction in the budget, so that a second eviction sees it before the pod is gone. */
  | { readonly verdict: 'spend'; readonly budget: PodDisruptionBudget }
  | { readonly verdict: 'refuse'; readonly message: string; readonly cause: string; readonly retryAfterSeconds: number }
  | { readonly verdict: 'unsupported'; readonly message: string };

/** The response of an API server whose webhook denies an eviction or is unreachable. */
export interface EvictionFault {
  readonly status: 403 | 500;
  readonly message: string;
}

/** Kubernetes' message; clients retry when they receive it. */
export const BUDGET_REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget.";

const budgetsOf = (pod: Pod, budgets: readonly PodDisruptionBudget[]): readonly PodDisruptionBudget[] =>
  budgets.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.metadata.namespace &&
      spec.selector !== undefined &&
      matchesSelector(spec.selector, pod.metadata.labels),
  );

/** Whether the eviction subresource may delete this pod (pkg/registry/core/pod/storage/eviction.go). */
export const planEviction = (pod: Pod, allBudgets: readonly PodDisruptionBudget[], now: string): EvictionVerdict => {
  if (pod.metadata.deletionTimestamp !== undefined || pod.status?.phase !== 'Running') return { verdict: 'evict' };
  const budgets = budgetsOf(pod, allBudgets);
  const [budget] = budgets;
  if (budget === undefined) return { verdict: 'evict' };
  if (budgets.length > 1) {
    return {
      verdict: 'unsupported',
      message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    };
  }
  if (!isReady(pod) && mayLoseUnready(budget)) return { verdict: 'evict' };
  return spend(pod, budget, now);
};

const mayLoseUnready = ({ spec, status }: PodDisruptionBudget): boolean =>
  spec.unhealthyPodEvictionPolicy === 'AlwaysAllow' ||
  (status !== undefined && status.desiredHealthy > 0 && status.currentHealthy >= status.desiredHealthy);

const spend = (pod: Pod, budget: PodDisruptionBudget, now: string): EvictionVerdict => {
  const { metadata, status } = budget;
  if (status === undefined || (status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return refuse(`The disruption budget ${metadata.name} is still being processed by the server.`, 10);
  }
  if (status.disruptionsAllowed <= 0) {
    return refuse(
      `The disruption budget ${metadata.name} needs ${status.desiredHealthy} healthy pods and has ${status.currentHealthy} currently`,
      0,
    );
  }
  const disruptedPods = { ...status.disruptedPods, [pod.metadata.name]: now };
  return {
    verdict: 'spend',
    budget: { ...budget, status: { ...status, disruptionsAllowed: status.disruptionsAllowed - 1, disruptedPods } },
  };
};

const refuse = (cause: string, retryAfterSeconds: number): EvictionVerdict => ({
  verdict: 'refuse',
  message: BUDGET_REFUSAL,
  cause,
  retryAfterSeconds,
});
