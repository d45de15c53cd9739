import type { Finding, NodeName } from '@fairlead/contracts';
import type { BudgetFacts, ClusterFacts, NodeFacts, PodFacts } from './cluster.facts.js';
import { asking, informing, when } from './finding.js';

const b7Asked = (sentence: string, facts: Readonly<Record<string, unknown>>, help: string): Finding =>
  asking('B7', { sentence, facts, help });

const coveredTwice = (budgets: readonly BudgetFacts[]): readonly string[] => {
  const seen = new Map<string, number>();
  for (const { pods } of budgets) for (const pod of pods) seen.set(pod, (seen.get(pod) ?? 0) + 1);
  return [...seen].filter(([, times]) => times > 1).map(([pod]) => pod);
};

/** B7: budgets that allow nothing now, pods under two budgets (the eviction API refuses those), bare pods, emptyDirs. */
export const b7PodsCanMove = (facts: ClusterFacts, drained: readonly NodeName[]): readonly Finding[] => {
  const pods = facts.pods.filter(({ node }) => drained.includes(node));
  const names = new Set(pods.map(({ name }) => name));
  const tight = facts.budgets.filter((one) => one.disruptionsAllowed < 1 && one.pods.some((pod) => names.has(pod)));
  const twice = coveredTwice(facts.budgets).filter((pod) => names.has(pod));
  const bare = pods.filter((pod) => pod.bare).map(({ name }) => name);
  const emptyDir = pods.filter((pod) => pod.emptyDir).map(({ name }) => name);
  return [
    ...tight.map(({ name, pods: covered }) =>
      b7Asked(
        `budget ${name} allows no disruption now`,
        { budget: name, pods: covered },
        'Add a replica, or expect that nodes wait for it until the drain timeout.',
      ),
    ),
    ...when(twice.length > 0, () =>
      b7Asked(`pods under more than one budget cannot be evicted: ${twice.join(', ')}`, { pods: twice }, 'Leave one.'),
    ),
    ...when(bare.length > 0, () =>
      b7Asked(`pods without a controller: ${bare.join(', ')}`, { pods: bare }, 'They end with the drain.'),
    ),
    ...when(emptyDir.length > 0, () =>
      informing('B7', {
        sentence: `pods lose what they hold in an emptyDir: ${emptyDir.join(', ')}`,
        facts: { pods: emptyDir },
        help: 'Move what must stay to a volume.',
      }),
    ),
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

/** B7: what requests the nodes that are away together hold, the others have room for. Largest nodes are taken as away. */
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
    b7Asked(
      `while ${atOnce} of pool ${pool} are away, the others have too little ${short === 'cpuMillis' ? 'CPU' : 'memory'} for all requests`,
      { pool, atOnce, short },
      'Add a node, ask for a smaller maxUnavailable, or use maxSurge; else pods stay Pending meanwhile.',
    ),
  );
};
