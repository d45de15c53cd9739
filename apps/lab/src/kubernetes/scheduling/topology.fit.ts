import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '../objects/core.types.js';
import { matchesSelector, type LabelSelector } from '../objects/label.selector.js';
import { selectsNode, type NodeLoad } from './node.fit.js';

/** Why other pods prevent this pod from being assigned to this node, or undefined if they do not. */
export const topologyMisfit = (pod: Pod, load: NodeLoad, all: readonly NodeLoad[]): string | undefined => {
  const spread = (pod.spec.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule',
  );
  if (!spread.every((constraint) => spreads(pod, constraint, { load, all })))
    return "node(s) didn't match pod topology spread constraints";
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const near = podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  if (!near.every((term) => isNear(pod, term, { load, all }))) return "node(s) didn't match pod affinity rules";
  const apart = podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  if (apart.some((term) => countIn(pod, term, { load, all }) > 0))
    return "node(s) didn't match pod anti-affinity rules";
  return all.some((other) => repels(other, pod, load))
    ? "node(s) didn't satisfy existing pods anti-affinity rules"
    : undefined;
};

interface Where {
  readonly load: NodeLoad;
  readonly all: readonly NodeLoad[];
}

const domainOf = ({ node }: NodeLoad, key: string): string | undefined => node.metadata.labels?.[key];

const matching = (load: NodeLoad, namespace: string | undefined, selector: LabelSelector | undefined): number =>
  load.pods.filter(
    ({ metadata }) =>
      metadata.namespace === namespace &&
      metadata.deletionTimestamp === undefined &&
      selector !== undefined &&
      matchesSelector(selector, metadata.labels),
  ).length;

/** Whether the node's domain would exceed the emptiest domain by at most the skew. */
const spreads = (
  pod: Pod,
  { topologyKey, maxSkew, labelSelector }: TopologySpreadConstraint,
  { load, all }: Where,
): boolean => {
  const domain = domainOf(load, topologyKey);
  if (domain === undefined) return false;
  const counts = new Map<string, number>();
  for (const other of all) {
    const name = domainOf(other, topologyKey);
    if (name === undefined || !selectsNode(pod.spec, other.node)) continue;
    counts.set(name, (counts.get(name) ?? 0) + matching(other, pod.metadata.namespace, labelSelector));
  }
  const own = labelSelector !== undefined && matchesSelector(labelSelector, pod.metadata.labels) ? 1 : 0;
  return (counts.get(domain) ?? 0) + own - Math.min(...counts.values()) <= maxSkew;
};

const countIn = (
  pod: Pod,
  { topologyKey, labelSelector, namespaces }: PodAffinityTerm,
  { load, all }: Where,
): number => {
  const domain = domainOf(load, topologyKey);
  if (domain === undefined) return 0;
  const spaces = namespaces === undefined || namespaces.length === 0 ? [pod.metadata.namespace] : namespaces;
  return all
    .filter((other) => domainOf(other, topologyKey) === domain)
    .reduce((sum, other) => sum + spaces.reduce((inner, space) => inner + matching(other, space, labelSelector), 0), 0);
};

/** The first pod of a group with an affinity to itself may be placed anywhere. */
const isNear = (pod: Pod, term: PodAffinityTerm, where: Where): boolean => {
  if (countIn(pod, term, where) > 0) return true;
  const none = where.all.every((load) => countIn(pod, term, { load, all: where.all }) === 0);
  return none && term.labelSelector !== undefined && matchesSelector(term.labelSelector, pod.metadata.labels);
};

/** Whether the anti-affinity of an existing pod excludes this one from its domain. */
const repels = (other: NodeLoad, pod: Pod, load: NodeLoad): boolean =>
  other.guards > 0 &&
  other.pods.some((placed) =>
    (placed.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(
      ({ topologyKey, labelSelector, namespaces }) =>
        placed.metadata.deletionTimestamp === undefined &&
        domainOf(other, topologyKey) !== undefined &&
        domainOf(other, topologyKey) === domainOf(load, topologyKey) &&
        (namespaces ?? [placed.metadata.namespace]).includes(pod.metadata.namespace ?? '') &&
        labelSelector !== undefined &&
        matchesSelector(labelSelector, pod.metadata.labels),
    ),
  );
