import { formatDuration } from '../output/duration.js';
import type { OperationKind } from './operations.js';
import {
  currentOperation,
  type NodeProgress,
  type NodeStage,
  type Operation,
  type Phase,
  type Progress,
  type Step,
  type StepState,
  type Trouble,
} from './progress.js';

export type Mark = 'done' | 'running' | 'waiting' | 'failed' | 'trouble';

/** One line of the tree, and what hangs below it. */
export interface Branch {
  readonly mark: Mark;
  readonly label: string;
  readonly detail?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly children: readonly Branch[];
}

export interface TreeOptions {
  readonly nowMs: number;
  /** Opens what is done and equal too: every step and every node. */
  readonly all: boolean;
}

/** The cluster as a tree: what is done or equal is one line, what runs or hurts is open. */
export const treeOf = (progress: Progress, options: TreeOptions): Branch => {
  const operation = currentOperation(progress);
  const name = `${progress.at.namespace}/${progress.at.cluster}`;
  if (operation === undefined) return { mark: 'waiting', label: name, detail: 'nothing is known of it', children: [] };
  // What still ran when the operation failed runs no more.
  const then: TreeOptions = {
    ...options,
    nowMs: operation.state.status === 'running' ? options.nowMs : operation.state.endedAtMs,
  };
  const nodes = nodesBranch(progress, shownTroubles(operation), options);
  const tookMs = then.nowMs - operation.startedAtMs;
  return {
    mark: markOfOperation(operation, nodes),
    label: name,
    detail: [
      summaryOf(operation),
      progress.version,
      ...(operation.state.status === 'done' ? [`took ${formatDuration(tookMs)}`] : []),
    ]
      .filter(Boolean)
      .join(', '),
    durationMs: operation.state.status === 'done' ? undefined : tookMs,
    children: [...failureBranch(operation), ...operation.phases.map((phase) => phaseBranch(phase, then)), ...nodes],
  };
};

const DOING: Readonly<Record<OperationKind, string>> = {
  create: 'creating',
  'add-nodes': 'adding nodes',
  'remove-nodes': 'removing nodes',
  delete: 'deleting',
};
const DONE: Readonly<Record<OperationKind, string>> = {
  create: 'Ready',
  'add-nodes': 'Ready',
  'remove-nodes': 'Ready',
  delete: 'Deleted',
};

/** The operation in a few words. */
export const summaryOf = ({ kind, state, retries }: Operation): string => {
  const again = retries === 0 ? '' : ` (retry ${retries})`;
  switch (state.status) {
    case 'running':
      return `${DOING[kind]}${again}`;
    case 'done':
      return DONE[kind];
    case 'failed':
      return `${state.failure.rejected ? 'Rejected' : 'Failed'}${again} (${state.failure.code})`;
  }
};

const stepsOf = ({ phases }: Operation): readonly Step[] => phases.flatMap(({ steps }) => steps);

const markOfOperation = (operation: Operation, nodes: readonly Branch[]): Mark => {
  const { state } = operation;
  if (state.status === 'failed') return 'failed';
  const hurts =
    nodes.some(({ mark }) => mark === 'trouble' || mark === 'failed') || shownTroubles(operation).length > 0;
  return hurts ? 'trouble' : state.status;
};

/** What a step shows already; a node does not say it again. */
const shownTroubles = (operation: Operation): readonly Trouble[] =>
  stepsOf(operation).flatMap(({ state }) => troubleOf(state) ?? []);

/** The failed step tells why; a failure that belongs to no step is told here. */
const failureBranch = (operation: Operation): readonly Branch[] => {
  const { state } = operation;
  if (state.status !== 'failed' || shownTroubles(operation).some(({ message }) => message === state.failure.message))
    return [];
  return [{ mark: 'failed', label: state.failure.message, children: [] }];
};

// --- phases and steps -------------------------------------------------------------------------------------------------------------

const troubleOf = (state: StepState): Trouble | undefined =>
  state.status === 'running' || state.status === 'failed' ? state.trouble : undefined;

const phaseBranch = ({ title, steps }: Phase, options: TreeOptions): Branch => {
  const children = steps.map((step) => stepBranch(step, options));
  const mark = markOfAll(children.map((child) => child.mark));
  const isFolded = !options.all && (mark === 'done' || mark === 'waiting');
  return {
    mark,
    label: title,
    detail: isFolded && mark === 'done' ? notesOf(steps) : undefined,
    durationMs: spanOf(steps, options.nowMs),
    children: isFolded ? [] : children,
  };
};

const notesOf = (steps: readonly Step[]): string | undefined =>
  steps
    .map(noteOf)
    .filter((note) => note !== undefined && note !== '')
    .join(', ') || undefined;

/** Of a step without a known number, what is done is more telling than how many. */
export const noteOf = ({ plan, note, done }: Step): string | undefined =>
  note ?? (plan.total === undefined ? done.join(', ') || undefined : undefined);

const markOfAll = (marks: readonly Mark[]): Mark => {
  if (marks.includes('failed')) return 'failed';
  if (marks.includes('trouble')) return 'trouble';
  if (marks.every((mark) => mark === 'waiting')) return 'waiting';
  return marks.every((mark) => mark === 'done') ? 'done' : 'running';
};

const spanOf = (steps: readonly Step[], nowMs: number): number | undefined => {
  const begun = steps.flatMap(({ state }) => (state.status === 'waiting' ? [] : [state]));
  if (begun.length === 0) return undefined;
  const ends = begun.map((state) => (state.status === 'running' ? nowMs : state.endedAtMs));
  return Math.max(...ends) - Math.min(...begun.map(({ startedAtMs }) => startedAtMs));
};

const stepBranch = (step: Step, { nowMs }: TreeOptions): Branch => {
  const trouble = troubleOf(step.state);
  return {
    mark: step.state.status === 'running' && trouble !== undefined ? 'trouble' : step.state.status,
    label: step.plan.title,
    detail: [countOf(step), noteOf(step), trouble && attemptOf(trouble, nowMs)].filter(Boolean).join(', ') || undefined,
    durationMs: spanOf([step], nowMs),
    children: trouble === undefined ? [] : [troubleBranch(trouble)],
  };
};

const countOf = ({ plan, done, state }: Step): string | undefined => {
  if (plan.total === undefined || state.status === 'waiting') return undefined;
  return state.status === 'done' ? String(plan.total) : `${done.length} of ${plan.total}`;
};

const troubleBranch = ({ message, nextAttemptAtMs }: Trouble): Branch => ({
  mark: nextAttemptAtMs === null ? 'failed' : 'trouble',
  label: message,
  children: [],
});

/** `attempt 2 of 5, next in 4.0s`. */
export const attemptOf = ({ attempt, attemptsMax, nextAttemptAtMs }: Trouble, nowMs: number): string | undefined => {
  const count =
    attempt === undefined || attempt === 0 ? '' : `attempt ${attempt}${attemptsMax ? ` of ${attemptsMax}` : ''}`;
  const next =
    typeof nextAttemptAtMs === 'number'
      ? nextAttemptAtMs > nowMs
        ? `next in ${formatDuration(nextAttemptAtMs - nowMs)}`
        : 'trying again'
      : '';
  return [count, next].filter(Boolean).join(', ') || undefined;
};

// --- nodes ------------------------------------------------------------------------------------------------------------------------

const STAGE_WORDS: Readonly<Record<NodeStage, string>> = {
  planned: 'machine ordered',
  created: 'machine runs',
  reached: 'reached over SSH',
  agent: 'agent runs',
  software: 'software installed',
  prepared: 'prepared',
  joined: 'joined',
  ready: 'Ready',
  'not-ready': 'NotReady',
  drained: 'drained',
  left: 'out of the cluster',
};

const ROLE_WORDS = { 'control-plane': ['control plane', 'control planes'], worker: ['worker', 'workers'] } as const;

const nodesBranch = ({ nodes }: Progress, shown: readonly Trouble[], options: TreeOptions): readonly Branch[] => {
  if (nodes.length === 0) return [];
  const groups = groupsOf(nodes, options.all);
  const ready = nodes.filter(({ stage, lost }) => stage === 'ready' && !lost).length;
  return [
    {
      mark: markOfAll(groups.map(markOfGroup)),
      label: 'Machines',
      detail: `${ready} of ${nodes.length} Ready`,
      children: groups.map((group) => groupBranch(group, shown, options.nowMs)),
    },
  ];
};

/** Equal nodes are one line; a node with a problem always has its own. */
const groupsOf = (nodes: readonly NodeProgress[], all: boolean): readonly (readonly NodeProgress[])[] => {
  const groups = new Map<string, NodeProgress[]>();
  for (const node of nodes) {
    const isAlone = all || node.trouble !== undefined || node.lost || node.stage === 'not-ready';
    const key = isAlone ? node.name : `${node.role}/${node.stage}/${node.version ?? ''}`;
    groups.set(key, [...(groups.get(key) ?? []), node]);
  }
  return [...groups.values()];
};

const markOfGroup = ([node]: readonly NodeProgress[]): Mark => {
  if (node === undefined) return 'waiting';
  if (node.trouble?.nextAttemptAtMs === null) return 'failed';
  if (node.trouble !== undefined || node.lost || node.stage === 'not-ready') return 'trouble';
  if (node.stage === 'planned') return 'waiting';
  return node.stage === 'ready' ? 'done' : 'running';
};

const groupBranch = (group: readonly NodeProgress[], shown: readonly Trouble[], nowMs: number): Branch => {
  const [node] = group;
  if (node === undefined) return { mark: 'waiting', label: '', children: [] };
  const { trouble } = node;
  const [one, many] = ROLE_WORDS[node.role];
  const words = node.lost ? `${STAGE_WORDS[node.stage]}, no heartbeat` : STAGE_WORDS[node.stage];
  return {
    mark: markOfGroup(group),
    label: group.length === 1 ? `${node.name} (${one})` : `${group.length} ${many}`,
    detail: [[words, node.version].filter(Boolean).join(' '), trouble && attemptOf(trouble, nowMs)]
      .filter(Boolean)
      .join(', '),
    children:
      trouble === undefined || shown.some(({ message }) => message === trouble.message) ? [] : [troubleBranch(trouble)],
  };
};
