import type { KubernetesVersion } from '@fairlead/contracts';
import { d1NeedsCanary, d2AtOnce, d2Surge, d3MarkWorkers, d6MustDrain } from '../rules/workers.rules.js';
import { NO_CHANGE, type Draft } from './plan.builder.js';
import { softwareTo, strategyOf, type PlanInput, type PlannedNode } from './plan.request.js';
import { replacementDraft } from './replacement.planner.js';

/** One pass: the workers are upgraded to a version; `last`: also to all other requested software. */
export interface WorkerPass {
  readonly to: KubernetesVersion | null;
  readonly last: boolean;
}

const softwareOfPass = (input: PlanInput, node: PlannedNode, pass: WorkerPass) =>
  softwareTo(node, pass.to, pass.last ? (input.request.target.software ?? {}) : {});

const workerNeedsChange = (input: PlanInput, node: PlannedNode, pass: WorkerPass): boolean =>
  Object.keys(softwareOfPass(input, node, pass)).length > 0 || (pass.last && input.request.target.reboot);

const isSick = ({ facts }: PlannedNode): boolean => !facts.ready || facts.lost;

const reasonOf = (node: PlannedNode, canary: boolean): string => {
  if (canary) return 'canary: the other nodes of the pool wait for its gates (D1)';
  return isSick(node) ? 'it is not Ready, so changing it costs no capacity' : 'the next node of its pool';
};

const draftOf = (input: PlanInput, node: PlannedNode, pass: WorkerPass, canary: boolean): Draft => {
  const to = softwareOfPass(input, node, pass);
  const reboot = pass.last && input.request.target.reboot;
  const kubeletTo = to['kubelet'] ?? node.facts.kubelet;
  const runtime = to['containerd'] !== undefined;
  const strategy = strategyOf(input.request.strategy, node.facts.pool);
  const kubernetes = to['kubelet'] === undefined ? null : pass.to;
  return {
    kind: 'worker',
    node,
    canary,
    to,
    drain: d6MustDrain({ from: node.software['kubelet'] ?? kubeletTo, to: kubeletTo, runtime, reboot }, strategy),
    change: { ...NO_CHANGE, kubeadm: kubernetes === null ? null : 'node', kubernetes, reboot },
    reason: reasonOf(node, canary),
  };
};

/**
 * Sick nodes first, because their failure costs nothing. The canary is a healthy node: only a healthy node shows the
 * effect of the change.
 */
const ordered = (nodes: readonly PlannedNode[], withCanary: boolean): readonly PlannedNode[] => {
  const canary = withCanary ? nodes.find((node) => !isSick(node)) : undefined;
  const others = nodes.filter((node) => node !== canary);
  return [
    ...(canary === undefined ? [] : [canary]),
    ...others.filter(isSick),
    ...others.filter((node) => !isSick(node)),
  ];
};

const chunks = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));

/** All nodes of the pool, held ones included: percentages refer to this number. */
export const poolSize = ({ facts }: PlanInput, pool: string): number =>
  facts.nodes.filter((node) => node.role === 'worker' && node.pool === pool).length;

const replacementOf = (
  input: PlanInput,
  pool: string,
  changing: readonly PlannedNode[],
  { to, last }: WorkerPass,
): Draft | undefined => {
  if (to === null) return undefined;
  const nodes = changing.filter((node) => Object.keys(softwareTo(node, to, {})).length > 0);
  return replacementDraft(input, nodes, { pool, to, others: last ? (input.request.target.software ?? {}) : {} });
};

const poolBatches = (
  input: PlanInput,
  pool: string,
  members: readonly PlannedNode[],
  pass: WorkerPass,
): readonly (readonly Draft[])[] => {
  const strategy = strategyOf(input.request.strategy, pool);
  const changing = members.filter((node) => workerNeedsChange(input, node, pass));
  if (changing.length === 0) return [];
  const replacement = replacementOf(input, pool, changing, pass);
  if (replacement !== undefined) return [[replacement]];
  const canary = d1NeedsCanary(strategy, members.length - changing.length, changing.length);
  const nodes = ordered(changing, canary);
  const drafts = nodes.map((node, index) => draftOf(input, node, pass, canary && index === 0));
  const rest = canary ? drafts.slice(1) : drafts;
  // Without a soak time, smaller batches would only make fast nodes wait for slow ones.
  const size = strategy.soakSeconds > 0 ? d2AtOnce(strategy, poolSize(input, pool)) : Math.max(1, rest.length);
  const batches = [...(canary ? [drafts.slice(0, 1)] : []), ...chunks(rest, size)];
  return withSurge(input, pool, pass, batches);
};

/**
 * Surge nodes are created with the new version before the first node of the pool is drained, and deleted after the
 * last.
 */
const withSurge = (
  input: PlanInput,
  pool: string,
  pass: WorkerPass,
  batches: readonly (readonly Draft[])[],
): readonly (readonly Draft[])[] => {
  const surge = d2Surge(strategyOf(input.request.strategy, pool), poolSize(input, pool));
  if (surge === 0) return batches;
  const to = softwareTo({ software: {} }, pass.to, pass.last ? (input.request.target.software ?? {}) : {});
  const nodes = surge === 1 ? '1 surge node' : `${surge} surge nodes`;
  return [
    [
      {
        kind: 'book-surge',
        node: null,
        pool,
        to,
        reason: `${nodes} in ${pool} first, to keep its capacity (D2)`,
      },
    ],
    ...batches,
    [{ kind: 'return-surge', node: null, pool, to: {}, reason: `${pool} is done and needs no surge nodes (D2)` }],
  ];
};

/** The batches of one pass over the workers, pool by pool, sorted by name. */
export const workerBatches = (
  input: PlanInput,
  nodes: readonly PlannedNode[],
  pass: WorkerPass,
): readonly (readonly Draft[])[] => {
  const pools = [...new Set(nodes.map(({ facts }) => facts.pool))].toSorted();
  const batches = pools.flatMap((pool) =>
    poolBatches(
      input,
      pool,
      nodes.filter(({ facts }) => facts.pool === pool),
      pass,
    ),
  );
  const workers = batches.flat().filter(({ kind }) => kind === 'worker');
  if (!d3MarkWorkers(workers.map(({ drain = false }) => ({ drain })))) return batches;
  const marked = workers.flatMap(({ node }) => (node === null ? [] : [node.facts.name]));
  const mark: Draft = {
    kind: 'mark-workers',
    node: null,
    nodes: marked,
    to: {},
    reason: 'evicted pods prefer nodes that are done, and so move only once (D3)',
  };
  return [[mark], ...batches];
};

export const afterPass = (input: PlanInput, node: PlannedNode, pass: WorkerPass): PlannedNode => ({
  ...node,
  software: { ...node.software, ...softwareOfPass(input, node, pass) },
});
