import type { DrainBehavior, DrainPolicy, DrainRule } from '@fairlead/contracts';
import type { PodView } from '../cluster.ports.js';

/** The fields of a pod that a drain reads. */
export type DrainPod = Pick<
  PodView,
  | 'namespace'
  | 'name'
  | 'uid'
  | 'phase'
  | 'deleting'
  | 'createdMs'
  | 'toleratesCordon'
  | 'finalizers'
  | 'mirror'
  | 'controller'
  | 'labels'
  | 'annotations'
  | 'priority'
  | 'claims'
>;

/**
 * Pod annotation with a number; pods with lower ones leave first, and must be gone before the next ones are evicted.
 */
export const DRAIN_ORDER = 'fairlead.dev/drain-order';
/** Pod label that overrides every rule: `skip` or `wait-completed`. */
export const DRAIN_LABEL = 'fairlead.dev/drain';
const LABELLED: Readonly<Record<string, DrainBehavior>> = { skip: 'Skip', 'wait-completed': 'WaitCompleted' };
/** system-cluster-critical and system-node-critical (kubernetes.io, priority and preemption). */
const CRITICAL_PRIORITY = 2_000_000_000;
/** Critical pods are evicted after those that depend on them, unless the pod sets another order. */
const CRITICAL_ORDER = 1_000;

/** Static pods and DaemonSets' pods stay: they would be recreated at once. Pods that have ended stay, too. */
export const leaves = ({ mirror, controller, phase }: DrainPod): boolean =>
  !mirror && controller?.kind !== 'DaemonSet' && phase !== 'Succeeded' && phase !== 'Failed';

/** The rules for nodes of a pool, in order. */
export const rulesFor = ({ rules = [] }: DrainPolicy, pool: string): readonly DrainRule[] =>
  rules.filter(({ pools }) => pools === undefined || pools.includes(pool));

const applies = ({ namespaces, labels = {} }: DrainRule, pod: DrainPod): boolean =>
  (namespaces === undefined || namespaces.some((name) => name === pod.namespace)) &&
  Object.entries(labels).every(([key, value]) => pod.labels[key] === value);

const orderOf = ({ annotations, priority }: DrainPod, rule: DrainRule | undefined): number => {
  const asked = Number(annotations[DRAIN_ORDER] ?? NaN);
  if (Number.isInteger(asked)) return asked;
  return rule?.order ?? (priority >= CRITICAL_PRIORITY ? CRITICAL_ORDER : 0);
};

/** How a pod leaves its node, and when. */
export interface Leaving {
  readonly behavior: DrainBehavior;
  readonly order: number;
}

/** The pod's own label and annotation take precedence over the rules, of which the first match applies. */
export const leavingOf = (pod: DrainPod, rules: readonly DrainRule[] = []): Leaving => {
  if (!leaves(pod)) return { behavior: 'Skip', order: 0 };
  const rule = rules.find((one) => applies(one, pod));
  const labelled = LABELLED[pod.labels[DRAIN_LABEL] ?? ''];
  return { behavior: labelled ?? rule?.behavior ?? 'Drain', order: orderOf(pod, rule) };
};

/** One step of a drain. */
export interface DrainStep {
  /** Pods to evict now. */
  readonly evict: readonly DrainPod[];
  /** Pods that must leave and have not, including those to evict. */
  readonly left: readonly DrainPod[];
  /** The ones of these that are not evicted. */
  readonly ending: readonly DrainPod[];
}

/**
 * The next pods to evict, from the first group that is not gone: all without volumes at once; those with volumes one by
 * one, so that no two nodes wait for the same volume. `detaching`: a volume of the last one is still attached.
 */
export const nextEvictions = (
  pods: readonly DrainPod[],
  { detaching, rules }: { readonly detaching: boolean; readonly rules: readonly DrainRule[] },
): DrainStep => {
  const leaving = pods.map((pod) => ({ pod, ...leavingOf(pod, rules) })).filter(({ behavior }) => behavior !== 'Skip');
  const first = Math.min(...leaving.map(({ order }) => order));
  const group = leaving.flatMap(({ pod, order, behavior }) => (order === first && behavior === 'Drain' ? [pod] : []));
  const withVolumes = group.filter(({ claims }) => claims.length > 0);
  const oneIsGoing = withVolumes.some(({ deleting }) => deleting);
  const [nextWithVolume] = withVolumes.filter(({ deleting }) => !deleting).toSorted(byName);
  const plain = group.filter(({ claims, deleting }) => claims.length === 0 && !deleting);
  const serial = nextWithVolume === undefined || oneIsGoing || detaching ? [] : [nextWithVolume];
  return {
    evict: [...plain, ...serial],
    left: leaving.map(({ pod }) => pod),
    ending: leaving.flatMap(({ pod, behavior }) => (behavior === 'WaitCompleted' ? [pod] : [])),
  };
};

const byName = (one: DrainPod, other: DrainPod): number =>
  `${one.namespace}/${one.name}` < `${other.namespace}/${other.name}` ? -1 : 1;

/** Why a pod is on a node that was cordoned before the pod was created. */
export const whyReturned = ({ toleratesCordon }: Pick<DrainPod, 'toleratesCordon'>): string =>
  toleratesCordon
    ? 'comes back: tolerates node.kubernetes.io/unschedulable'
    : 'was created after the drain began, and bound to the node although it is cordoned';

/** What a pod that must leave waits for, unless something refuses. */
export const whyWaiting = ({ deleting, finalizers }: DrainPod, ending: boolean): string => {
  if (deleting && finalizers.length > 0) return `it is being deleted and has finalizers: ${finalizers.join(', ')}`;
  if (deleting) return 'it is being deleted and has not ended yet';
  return ending ? 'it ends by itself (WaitCompleted)' : 'it has not ended yet';
};
