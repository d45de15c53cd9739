import { attemptWords } from '@fairlead/domain';
import type { UpgradeView } from '../api/views.js';
import { formatDuration } from '../output/duration.js';
import type { Branch, Mark } from '../progress/tree.js';
import { targetText, TITLES } from './plan.text.js';

export type UpgradeNode = UpgradeView['nodes'][number];
type Operation = UpgradeView['operations'][number];

export interface UpgradeTreeOptions {
  /** How long ago the view was made: what is under way has taken so much longer. */
  readonly agoMs: number;
  /** Opens what is done and what waits, too. */
  readonly all: boolean;
}

const MARKS: Readonly<Record<UpgradeNode['phase'], Mark>> = {
  Waiting: 'waiting',
  Preparing: 'running',
  Draining: 'running',
  Changing: 'running',
  Verifying: 'running',
  Done: 'done',
  Failed: 'failed',
  LeftFailed: 'failed',
  Skipped: 'waiting',
  Held: 'waiting',
  Quarantined: 'trouble',
};

export const isUnderWay = (node: UpgradeNode): boolean => MARKS[node.phase] === 'running';

const elapsed = (elapsedMs: number | null, running: boolean, { agoMs }: UpgradeTreeOptions): number | undefined =>
  elapsedMs === null ? undefined : elapsedMs + (running ? agoMs : 0);

const markOfNode = (node: UpgradeNode): Mark =>
  isUnderWay(node) && node.failure !== '' ? 'trouble' : MARKS[node.phase];

/** What a node is at, and what it waits for. */
export const nodeWords = ({ phase, step, waitsFor }: UpgradeNode): string => {
  const stage = step === null ? phase : `${phase} (${step})`;
  if (waitsFor === '' || waitsFor === step) return stage;
  if (phase === 'Waiting') return `waits for ${waitsFor}`;
  return phase === 'Skipped' || phase === 'Quarantined' ? `${stage}: ${waitsFor}` : `${stage}, waits for ${waitsFor}`;
};

const failureBranch = (node: UpgradeNode): readonly Branch[] => {
  const { failure, attemptsMax, phase } = node;
  if (failure === '' || phase === 'Done') return [];
  const count = attemptsMax <= 1 ? '' : ` (${attemptWords(node)})`;
  return [
    {
      mark: phase === 'Failed' || phase === 'LeftFailed' ? 'failed' : 'trouble',
      label: `${failure}${count}`,
      children: [],
    },
  ];
};

const nodeBranch = (node: UpgradeNode, options: UpgradeTreeOptions): Branch => {
  const predicted = isUnderWay(node) ? `, predicted ${formatDuration(node.predictedMs)}` : '';
  const detail =
    node.phase === 'Done'
      ? `${node.to}, predicted ${formatDuration(node.predictedMs)}`
      : `${nodeWords(node)}${predicted}`;
  return {
    mark: markOfNode(node),
    label: node.name,
    detail,
    durationMs: elapsed(node.elapsedMs, isUnderWay(node), options),
    children: failureBranch(node),
  };
};

/** Nodes that are done, and those that wait for their turn, are one line when there are more than so many. */
const FOLD_MIN = 4;

const folded = (nodes: readonly UpgradeNode[], words: string, options: UpgradeTreeOptions): readonly Branch[] => {
  const [first] = nodes;
  if (first === undefined) return [];
  if (options.all || nodes.length < FOLD_MIN) return nodes.map((node) => nodeBranch(node, options));
  return [{ mark: MARKS[first.phase], label: `${nodes.length} nodes`, detail: words, children: [] }];
};

const markOfGroup = (nodes: readonly UpgradeNode[]): Mark => {
  const marks = nodes.map(markOfNode);
  if (marks.includes('failed')) return 'failed';
  if (marks.includes('trouble')) return 'trouble';
  if (nodes.every(({ phase }) => phase === 'Done' || phase === 'Skipped')) return 'done';
  return nodes.some((node) => isUnderWay(node) || node.phase === 'Done') ? 'running' : 'waiting';
};

/** Nodes that were skipped, or rolled back, are never done. */
const countsOf = (nodes: readonly UpgradeNode[]): string | undefined => {
  const of = (wanted: UpgradeNode['phase']): number => nodes.filter(({ phase }) => phase === wanted).length;
  if (of('Held') === nodes.length) return undefined;
  const skipped = of('Skipped');
  if (skipped === nodes.length) return 'skipped';
  return `${of('Done')} of ${nodes.length} done${skipped === 0 ? '' : `, ${skipped} skipped`}`;
};

const groupBranch = (label: string, nodes: readonly UpgradeNode[], options: UpgradeTreeOptions): Branch => {
  const of = (phase: UpgradeNode['phase']): readonly UpgradeNode[] => nodes.filter((node) => node.phase === phase);
  const done = of('Done');
  const waiting = of('Waiting');
  const others = nodes.filter(({ phase }) => phase !== 'Done' && phase !== 'Waiting');
  return {
    mark: markOfGroup(nodes),
    label,
    detail: countsOf(nodes),
    children: [
      ...folded(done, 'done', options),
      ...others.map((node) => nodeBranch(node, options)),
      ...folded(waiting, 'wait for their turn', options),
    ],
  };
};

const OPERATION_MARKS: Readonly<Record<Operation['state'], Mark>> = {
  waiting: 'waiting',
  running: 'running',
  done: 'done',
  failed: 'failed',
  skipped: 'waiting',
};

const operationBranch = (operation: Operation, options: UpgradeTreeOptions): Branch => ({
  mark: OPERATION_MARKS[operation.state],
  label: TITLES[operation.kind] ?? operation.kind,
  durationMs: elapsed(operation.elapsedMs, operation.state === 'running', options),
  children:
    operation.failure === '' || operation.state === 'done'
      ? []
      : [{ mark: OPERATION_MARKS[operation.state], label: operation.failure, children: [] }],
});

const groupOf = ({ role, pool, phase }: UpgradeNode): string => {
  if (phase === 'Held') return 'On hold';
  return role === 'control-plane' ? 'Control planes' : `Pool ${pool}`;
};

/** In the order of the plan: what is about no node stands where it is done, nodes stand where the first of their group is. */
const partsOf = (upgrade: UpgradeView, options: UpgradeTreeOptions): readonly Branch[] => {
  const nodes = new Map(upgrade.nodes.map((node) => [node.name, node]));
  const shown = new Set<string>();
  const group = (label: string): readonly Branch[] => {
    if (shown.has(label)) return [];
    shown.add(label);
    return [
      groupBranch(
        label,
        upgrade.nodes.filter((node) => groupOf(node) === label),
        options,
      ),
    ];
  };
  return [
    ...upgrade.operations.flatMap((operation) => {
      const node = operation.node === null ? undefined : nodes.get(operation.node);
      return node === undefined ? [operationBranch(operation, options)] : group(groupOf(node));
    }),
    ...upgrade.nodes.filter(({ phase }) => phase === 'Held').flatMap((node) => group(groupOf(node))),
  ];
};

const MARK_OF_PHASE: Readonly<Record<UpgradeView['phase'], Mark>> = {
  Planning: 'running',
  Waiting: 'waiting',
  Rejected: 'failed',
  Planned: 'waiting',
  Approved: 'running',
  Running: 'running',
  Paused: 'trouble',
  Halted: 'failed',
  Aborting: 'trouble',
  Aborted: 'failed',
  Completed: 'done',
};

const adviceOf = ({ nextActions }: UpgradeView): readonly Branch[] =>
  nextActions.map((action) => ({ mark: 'waiting', label: action, children: [] }));

/** The upgrade as a tree: what is under way is open, with what it waits for. */
export const upgradeTree = (upgrade: UpgradeView, options: UpgradeTreeOptions): Branch => {
  const isRunning = upgrade.finishedAt === null;
  const total = upgrade.predictedMs === null ? '' : `predicted ${formatDuration(upgrade.predictedMs)}`;
  return {
    mark: MARK_OF_PHASE[upgrade.phase],
    label: `${upgrade.namespace}/${upgrade.cluster}`,
    detail: [
      targetText(upgrade),
      upgrade.message === '' ? upgrade.phase : `${upgrade.phase}: ${upgrade.message}`,
      total,
    ]
      .filter(Boolean)
      .join(', '),
    durationMs: elapsed(upgrade.elapsedMs, isRunning, options),
    children: [...adviceOf(upgrade), ...partsOf(upgrade, options)],
  };
};
