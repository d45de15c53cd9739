import type { Finding, NodeName } from '@fairlead/contracts';
import type { BudgetFacts, ClusterFacts, NodeFacts, PodFacts } from './cluster.facts.js';
import { finding, when } from './finding.js';

const coveredTwice = (budgets: readonly BudgetFacts[]): readonly string[] => {
  const seen = new Map<string, number>();
  for (const { pods } of budgets) for (const pod of pods) seen.set(pod, (seen.get(pod) ?? 0) + 1);
  return [...seen].filter(([, times]) => times > 1).map(([pod]) => pod);
};

/**
 * B7: budgets that currently allow no disruption, pods covered by two budgets (rejected by the eviction API), bare
 * pods, emptyDirs.
 */
export const b7PodsCanMove = (facts: ClusterFacts, drained: readonly NodeName[]): readonly Finding[] => {
  const pods = facts.pods.filter(({ node }) => drained.includes(node));
  const names = new Set(pods.map(({ name }) => name));
  const tight = facts.budgets.filter((one) => one.disruptionsAllowed < 1 && one.pods.some((pod) => names.has(pod)));
  const twice = coveredTwice(facts.budgets).filter((pod) => names.has(pod));
  const bare = pods.filter((pod) => pod.bare).map(({ name }) => name);
  const emptyDir = pods.filter((pod) => pod.emptyDir).map(({ name }) => name);
  return [
    ...tight.map(({ name, pods: covered }) => finding('B7.budget', { budget: name, pods: covered })),
    ...when(twice.length > 0, () => finding('B7.two-budgets', { pods: twice })),
    ...when(bare.length > 0, () => finding('B7.bare', { pods: bare })),
    ...when(emptyDir.length > 0, () => finding('B7.empty-dir', { pods: emptyDir })),
  ];
};

const sumOf = (pods: readonly PodFacts[], of: 'cpuMillis' | 'memoryBytes'): number =>
  pods.reduce((sum, { requests }) => sum + requests[of], 0);

const missing = (
  nodes: readonly NodeFacts[],
  pods: readonly PodFacts[],
  away: readonly NodeName[],
): string | undefined =>
  (['cpuMillis', 'memoryBytes'] as const).find((of) => {
    const room = nodes
      .filter(({ name, unschedulable, ready }) => !away.includes(name) && !unschedulable && ready)
      .reduce((sum, { allocatable }) => sum + allocatable[of], 0);
    return sumOf(pods, of) > room;
  });

/**
 * B7: the remaining nodes have capacity for the requests of the nodes that are unavailable at the same time. The
 * largest nodes are assumed to be unavailable.
 */
export const b7Capacity = (facts: ClusterFacts, pool: string, atOnce: number): readonly Finding[] => {
  const workers = facts.nodes.filter(({ role }) => role === 'worker');
  const held = workers.length > 0 ? workers : facts.nodes;
  const away = held
    .filter((node) => node.pool === pool)
    .toSorted((one, other) => other.allocatable.memoryBytes - one.allocatable.memoryBytes)
    .slice(0, atOnce)
    .map(({ name }) => name);
  const names = new Set(held.map(({ name }) => name));
  const pods = facts.pods.filter(({ node }) => names.has(node));
  const short = missing(held, pods, away);
  return when(away.length > 0 && short !== undefined, () =>
    finding('B7.capacity', { pool, atOnce, short }, { resource: short === 'cpuMillis' ? 'CPU' : 'memory' }),
  );
};
