import { formatDuration } from '../output/duration.js';
import { currentOperation, type Operation, type Progress, type Step, type Trouble } from './progress.js';
import { attemptOf, noteOf, summaryOf } from './progress.tree.js';

/** What changed, as whole lines for a log: every step once when it ends, every trouble once, and the end. */
export const linesBetween = (before: Progress, after: Progress): readonly string[] => {
  const atMs = after.lastTimeMs;
  const operation = currentOperation(after);
  if (operation === undefined) return [];
  const known = sameOperation(currentOperation(before), operation);
  const stamp = `${formatDuration(atMs - operation.startedAtMs).padStart(7)}  ${after.at.cluster}  `;
  return [
    ...(known === undefined || known.retries !== operation.retries
      ? [[summaryOf(operation), after.version].filter(Boolean).join(', ')]
      : []),
    ...stepLines(known, operation, atMs),
    ...nodeLines(before, after),
    ...endLines(known, operation),
  ].map((line) => stamp + line.replaceAll(/\s+/g, ' '));
};

/** A new operation has nothing in common with the one before it. */
const sameOperation = (before: Operation | undefined, after: Operation): Operation | undefined =>
  before?.kind === after.kind && before.startedAtMs === after.startedAtMs ? before : undefined;

const stepsOf = (operation: Operation | undefined): readonly Step[] =>
  operation?.phases.flatMap(({ steps }) => steps) ?? [];

const stepLines = (before: Operation | undefined, after: Operation, atMs: number): readonly string[] => {
  const known = new Map(stepsOf(before).map((step) => [step.plan.id, step]));
  return stepsOf(after).flatMap((step) => {
    const past = known.get(step.plan.id)?.state;
    const { state } = step;
    if (state.status === 'done' && past?.status !== 'done')
      return [doneLine(step, state.endedAtMs - state.startedAtMs)];
    const pastTrouble = past?.status === 'running' ? past.trouble : undefined;
    if (state.status !== 'running' || state.trouble === undefined || same(pastTrouble, state.trouble)) return [];
    return [troubleLine(step.plan.title, state.trouble, atMs)];
  });
};

const same = (a: Trouble | undefined, b: Trouble): boolean =>
  a !== undefined && a.message === b.message && a.attempt === b.attempt;

const doneLine = (step: Step, durationMs: number): string => {
  const { title, total } = step.plan;
  const note = noteOf(step);
  const count = total === undefined ? '' : ` ${total} of ${total}`;
  return `${title}: done${count}${note ? ` (${note})` : ''}, ${formatDuration(durationMs)}`;
};

const troubleLine = (title: string, trouble: Trouble, atMs: number): string => {
  const attempt = attemptOf(trouble, atMs);
  return `${title}: ${trouble.message}${attempt === undefined ? '' : ` (${attempt})`}`;
};

const nodeLines = (before: Progress, after: Progress): readonly string[] => {
  const known = new Map(before.nodes.map((node) => [node.name, node]));
  return after.nodes.flatMap((node) => {
    const past = known.get(node.name);
    if (past === undefined) return [];
    if (node.lost !== past.lost)
      return [`${node.name}: ${node.lost ? 'no heartbeat any more' : 'sends heartbeats again'}`];
    if (node.stage === 'not-ready' && past.stage !== 'not-ready')
      return [`${node.name}: NotReady: ${node.trouble?.message ?? 'no reason given'}`];
    return node.stage === 'ready' && past.stage === 'not-ready' ? [`${node.name}: Ready again`] : [];
  });
};

const endLines = (before: Operation | undefined, { state, ...operation }: Operation): readonly string[] => {
  if (state.status === 'running' || before?.state.status === state.status) return [];
  const summary = summaryOf({ ...operation, state });
  return [state.status === 'failed' ? `${summary}: ${state.failure.message}` : summary];
};
