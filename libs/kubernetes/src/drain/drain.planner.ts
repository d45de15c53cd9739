import type { PodView } from '../cluster.ports.js';

/** What a drain reads of a pod. */
export type DrainPod = Pick<
  PodView,
  'namespace' | 'name' | 'uid' | 'phase' | 'deleting' | 'mirror' | 'controller' | 'annotations' | 'priority' | 'claims'
>;

/** On a pod: a number; pods with a lower one go first, and must be gone before the next ones are asked to go. */
export const DRAIN_ORDER = 'fairlead.dev/drain-order';
/** system-cluster-critical and system-node-critical (kubernetes.io, priority and preemption). */
const CRITICAL_PRIORITY = 2_000_000_000;
/** Pods that others depend on are evicted after them, unless the pod has another order. */
const CRITICAL_ORDER = 1_000;

/** Static pods and DaemonSets' pods stay: they would come back at once. Pods that have ended stay, too. */
export const leaves = ({ mirror, controller, phase }: DrainPod): boolean =>
  !mirror && controller?.kind !== 'DaemonSet' && phase !== 'Succeeded' && phase !== 'Failed';

const orderOf = ({ annotations, priority }: DrainPod): number => {
  const asked = Number(annotations[DRAIN_ORDER] ?? NaN);
  if (Number.isInteger(asked)) return asked;
  return priority >= CRITICAL_PRIORITY ? CRITICAL_ORDER : 0;
};

/** One step of a drain. */
export interface DrainStep {
  /** Pods to evict now. */
  readonly evict: readonly DrainPod[];
  /** Pods that must leave and have not, including those to evict. */
  readonly left: readonly DrainPod[];
}

/**
 * The next pods to evict: of the first group that is not gone, all without volumes at once; those with volumes one after the
 * other, so that no volume is waited for by two nodes. `detaching`: a volume of the last one is still attached.
 */
export const nextEvictions = (pods: readonly DrainPod[], detaching: boolean): DrainStep => {
  const left = pods.filter(leaves);
  const first = Math.min(...left.map(orderOf));
  const group = left.filter((pod) => orderOf(pod) === first);
  const withVolumes = group.filter(({ claims }) => claims.length > 0);
  const oneIsGoing = withVolumes.some(({ deleting }) => deleting);
  const [nextWithVolume] = withVolumes.filter(({ deleting }) => !deleting).toSorted(byName);
  const plain = group.filter(({ claims, deleting }) => claims.length === 0 && !deleting);
  const serial = nextWithVolume === undefined || oneIsGoing || detaching ? [] : [nextWithVolume];
  return { evict: [...plain, ...serial], left };
};

const byName = (one: DrainPod, other: DrainPod): number =>
  `${one.namespace}/${one.name}` < `${other.namespace}/${other.name}` ? -1 : 1;
