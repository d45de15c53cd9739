import type { ClusterAt, ClusterView, NodeProgressView, OperationView, StepView } from '../api/views.js';
import { formatDuration } from '../output/duration.js';
import { attemptIn, attemptOf, hasFailed, isOver, nodeWords, summaryOf, troubleOf } from './operation.words.js';
import type { Branch, Mark } from './tree.js';

/** An operation on a cluster, and the nodes to display. */
export interface ShownOperation {
  readonly at: ClusterAt;
  /** Version of the cluster; empty if it is unknown. */
  readonly version: string;
  /** The state of the cluster; if absent, it follows from the operation. */
  readonly state?: ClusterView['status']['state'] | undefined;
  readonly operation: OperationView;
  readonly nodes: readonly NodeProgressView[];
}

export interface TreeOptions {
  readonly nowMs: number;
  /** Expands completed and equal items: every step and every node. */
  readonly all: boolean;
}

/** The operation as a tree: completed or equal items are collapsed, running or failed ones are expanded. */
export const treeOf = (shown: ShownOperation, options: TreeOptions): Branch => {
  const { at, operation, version } = shown;
  const { finishedAt, startedAt } = operation;
  const nowMs = finishedAt === null ? options.nowMs : Date.parse(finishedAt);
  const isDone = operation.phase === 'Succeeded';
  const tookMs = nowMs - Date.parse(startedAt);
  const nodes = nodesBranch(shown, options);
  const took = isDone ? `took ${formatDuration(tookMs)}` : '';
  const label = `${at.namespace}/${at.cluster}`;
  // The operation made the cluster Ready, but it no longer is.
  const state = isDone && shown.state !== 'Running' ? shown.state : undefined;
  const since = hasFailed(operation) && finishedAt !== null ? `since ${finishedAt}` : '';
  const words = state === undefined ? [summaryOf(operation), since, version, took] : [state, version];
  const mark = markOfOperation(operation, nodes);
  return {
    mark: state === 'Degraded' && mark === 'done' ? 'trouble' : mark,
    label,
    detail: words.filter(Boolean).join(', '),
    durationMs: isDone ? undefined : tookMs,
    children: [
      ...failureBranch(operation),
      ...adviceBranches(operation),
      ...phaseBranches(operation, { ...options, nowMs }),
      ...nodes,
    ],
  };
};

const markOfOperation = (operation: OperationView, nodes: readonly Branch[]): Mark => {
  // Someone has ended it: that is no failure.
  if (operation.phase === 'Cancelled') return 'waiting';
  if (hasFailed(operation)) return 'failed';
  const isTroubled =
    nodes.some(({ mark }) => mark === 'trouble' || mark === 'failed') ||
    operation.steps.some(({ failure }) => failure !== null);
  if (isTroubled) return 'trouble';
  return operation.phase === 'Succeeded' ? 'done' : 'running';
};

/** A failed step has its own message; a failure without a step is displayed here. */
const failureBranch = (operation: OperationView): readonly Branch[] => {
  const { message, steps } = operation;
  const isShown = steps.some((step) => troubleOf(step, operation) === message);
  if (!hasFailed(operation) || message === '' || isShown) return [];
  if (operation.phase === 'Cancelled') return [{ mark: 'waiting', label: message, children: [], wraps: true }];
  return [troubleBranch(message, true)];
};

/** The advice. */
const adviceBranches = ({ nextActions }: OperationView): readonly Branch[] =>
  nextActions.map((action) => ({ mark: 'waiting', label: action, children: [], wraps: true }));

type Group<T> = readonly [T, ...T[]];

/** Groups items by key, in the order of their first occurrence. */
const groupBy = <T>(items: readonly T[], keyOf: (item: T) => string): readonly Group<T>[] => {
  const groups = new Map<string, Group<T>>();
  for (const item of items) {
    const [first, ...others] = groups.get(keyOf(item)) ?? [];
    groups.set(keyOf(item), first === undefined ? [item] : [first, ...others, item]);
  }
  return [...groups.values()];
};

// --- steps and the parts that they belong to --------------------------------------------------------------------------------------

const phaseBranches = (operation: OperationView, options: TreeOptions): readonly Branch[] =>
  groupBy(operation.steps, ({ group }) => group).map((steps) => {
    const [{ group }] = steps;
    const children = steps.map((step) => stepBranch(step, operation, options));
    const mark = markOfAll(children.map((child) => child.mark));
    const isFolded = !options.all && (mark === 'done' || mark === 'waiting');
    const notes = steps.map(({ note }) => note).filter(Boolean);
    return {
      mark,
      label: group,
      detail: isFolded && mark === 'done' ? notes.join(', ') || undefined : undefined,
      durationMs: spanOf(steps, options.nowMs),
      children: isFolded ? [] : children,
    };
  });

const markOfAll = (marks: readonly Mark[]): Mark => {
  if (marks.includes('failed')) return 'failed';
  if (marks.includes('trouble')) return 'trouble';
  if (marks.every((mark) => mark === 'waiting')) return 'waiting';
  return marks.every((mark) => mark === 'done') ? 'done' : 'running';
};

const spanOf = (steps: readonly StepView[], nowMs: number): number | undefined => {
  const begun = steps.flatMap(({ startedAt, finishedAt }) =>
    startedAt === null
      ? []
      : [{ from: Date.parse(startedAt), to: finishedAt === null ? nowMs : Date.parse(finishedAt) }],
  );
  if (begun.length === 0) return undefined;
  return Math.max(...begun.map(({ to }) => to)) - Math.min(...begun.map(({ from }) => from));
};

const stepBranch = (step: StepView, operation: OperationView, { nowMs }: TreeOptions): Branch => {
  const { state, title, note, failure } = step;
  const trouble = troubleOf(step, operation);
  const attempt = failure === null ? '' : attemptIn(operation, failure, nowMs);
  return {
    mark: state === 'running' && trouble !== '' ? 'trouble' : state,
    label: title,
    detail: [countOf(step), note, attempt].filter(Boolean).join(', ') || undefined,
    durationMs: spanOf([step], nowMs),
    children: trouble === '' ? [] : [troubleBranch(trouble, state === 'failed' || failure?.nextAttemptAt === null)],
  };
};

const countOf = ({ state, done, total }: StepView): string => {
  if (total === null || done === null || state === 'waiting') return '';
  return state === 'done' ? String(total) : `${done} of ${total}`;
};

const troubleBranch = (label: string, isFinal: boolean): Branch => ({
  mark: isFinal ? 'failed' : 'trouble',
  label,
  children: [],
  wraps: true,
});

// --- nodes ------------------------------------------------------------------------------------------------------------------------

const ROLE_WORDS = { 'control-plane': ['control plane', 'control planes'], worker: ['worker', 'workers'] } as const;

const nodesBranch = ({ nodes, operation }: ShownOperation, options: TreeOptions): readonly Branch[] => {
  if (nodes.length === 0) return [];
  const groups = groupsOf(nodes, options.all);
  const ready = nodes.filter(({ ready: isReady, state }) => isReady ?? state === 'ready').length;
  return [
    {
      mark: markOfAll(groups.map(([node]) => markOfNode(node))),
      label: 'Machines',
      detail: `${ready} of ${nodes.length} Ready`,
      children: groups.map((group) => groupBranch(group, operation, options.nowMs)),
    },
  ];
};

/** Equal nodes are one line; a node with a problem always has its own line. */
const groupsOf = (nodes: readonly NodeProgressView[], all: boolean): readonly Group<NodeProgressView>[] =>
  groupBy(nodes, ({ name, role, stage, state, version, reason }) =>
    all || reason !== '' || state === 'lost' || state === 'not-ready' ? name : `${role}/${stage}/${version}`,
  );

const markOfNode = ({ state, reason }: NodeProgressView): Mark => {
  switch (state) {
    case 'failed':
      return 'failed';
    case 'lost':
    case 'not-ready':
      return 'trouble';
    case 'ready':
      return reason === '' ? 'done' : 'trouble';
    case 'waiting':
    case 'running':
      return reason === '' ? state : 'trouble';
  }
};

const groupBranch = (group: Group<NodeProgressView>, operation: OperationView, nowMs: number): Branch => {
  const [node] = group;
  const [one, many] = ROLE_WORDS[node.role];
  const failure = operation.failures.findLast(
    ({ node: name, sentence }) => name === node.name && sentence === node.reason,
  );
  const isShown = operation.steps.some((step) => troubleOf(step, operation) === node.reason);
  return {
    mark: markOfNode(node),
    label: group.length === 1 ? `${node.name} (${one})` : `${group.length} ${many}`,
    detail: [nodeWords(node, nowMs), failure === undefined || isOver(operation) ? '' : attemptOf(failure, nowMs)]
      .filter(Boolean)
      .join(', '),
    children: node.reason === '' || isShown ? [] : [troubleBranch(node.reason, node.state === 'failed')],
  };
};
