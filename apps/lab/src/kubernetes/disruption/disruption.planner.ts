import { again, replace, type Operation } from '../operations/operation.js';
import { timestamp, timeOf } from '../clock/clock.js';
import { isActive, isReady, type IntOrString, type Pod, type PodDisruptionBudget } from '../objects/core.types.js';
import { matchesSelector } from '../objects/label.selector.js';
import { controllerOf, withCondition, type Condition } from '../objects/kube.object.js';
import { scaledValue } from '../objects/quantity.js';
import { POD_DISRUPTION_BUDGETS } from '../resources/builtin.resources.js';

export interface BudgetWorld {
  readonly budget: PodDisruptionBudget;
  /** The pods in the budget's namespace. */
  readonly pods: readonly Pod[];
  /** The desired replicas of a pod's controller, by the controller's UID; undefined if it is not scalable. */
  readonly scaleOf: (controllerUid: string) => number | undefined;
  readonly nowMs: number;
}

/**
 * An allowed eviction counts as a disruption until its pod is gone, at most this long (pkg/controller/disruption,
 * DeletionTimeout).
 */
const DISRUPTED_MAX_MS = 2 * 60_000;

/** Updates how many pods may be disrupted now. */
export const planBudget = ({ budget, pods, scaleOf, nowMs }: BudgetWorld): readonly Operation[] => {
  const { spec, metadata } = budget;
  const selected = pods.filter(
    (pod) => spec.selector !== undefined && matchesSelector(spec.selector, pod.metadata.labels),
  );
  const counted = selected.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
  const disrupted = stillDisrupted(budget, counted, nowMs);
  const healthy = counted.filter((pod) => isActive(pod) && isReady(pod) && disrupted[pod.metadata.name] === undefined);
  const expected = expectedPods(counted, scaleOf);
  const desiredHealthy = desired(spec, { expected, counted: counted.length });
  const allowed = expected === 0 && counted.length === 0 ? 0 : Math.max(0, healthy.length - desiredHealthy);
  const status: NonNullable<PodDisruptionBudget['status']> = {
    currentHealthy: healthy.length,
    desiredHealthy,
    disruptionsAllowed: allowed,
    expectedPods: spec.minAvailable !== undefined && typeof spec.minAvailable === 'number' ? counted.length : expected,
    observedGeneration: metadata.generation ?? 1,
    ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
    conditions: withCondition(
      budget.status?.conditions,
      allowedCondition(allowed, timestamp(nowMs), metadata.generation ?? 1),
    ),
  };
  const ends = Object.values(disrupted).map((time) => timeOf(time) + DISRUPTED_MAX_MS);
  return [
    replace(POD_DISRUPTION_BUDGETS, { ...budget, status }, 'the status follows the pods'),
    ...(ends.length === 0 ? [] : [again(Math.min(...ends))]),
  ];
};

const stillDisrupted = (
  { status }: PodDisruptionBudget,
  pods: readonly Pod[],
  nowMs: number,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(status?.disruptedPods ?? {}).filter(
      ([name, time]) =>
        timeOf(time) + DISRUPTED_MAX_MS > nowMs &&
        pods.some(({ metadata }) => metadata.name === name && metadata.deletionTimestamp === undefined),
    ),
  );

/** The desired replicas of the pods' controllers; a pod without a controller counts as one. */
const expectedPods = (pods: readonly Pod[], scaleOf: BudgetWorld['scaleOf']): number => {
  const controllers = new Set(pods.map((pod) => controllerOf(pod)?.uid).filter((uid) => uid !== undefined));
  const bare = pods.filter((pod) => controllerOf(pod) === undefined).length;
  return [...controllers].reduce(
    (sum, uid) => sum + (scaleOf(uid) ?? pods.filter((pod) => controllerOf(pod)?.uid === uid).length),
    bare,
  );
};

const desired = (
  { minAvailable, maxUnavailable }: PodDisruptionBudget['spec'],
  { expected, counted }: { readonly expected: number; readonly counted: number },
): number => {
  if (maxUnavailable !== undefined) return Math.max(0, expected - rounded(maxUnavailable, expected));
  if (minAvailable === undefined) return 0;
  return typeof minAvailable === 'number' ? minAvailable : rounded(minAvailable, expected === 0 ? counted : expected);
};

/** Both limits round up, as in Kubernetes. */
const rounded = (value: IntOrString, total: number): number => scaledValue(value, total, 'up');

const allowedCondition = (allowed: number, now: string, observedGeneration: number): Condition => ({
  type: 'DisruptionAllowed',
  status: allowed > 0 ? 'True' : 'False',
  reason: allowed > 0 ? 'SufficientPods' : 'InsufficientPods',
  message: '',
  lastTransitionTime: now,
  observedGeneration,
});
