import type { NodeProgressView, OperationView, StepView } from '../api/api.ports.js';
import { formatDuration } from '../output/duration.js';
import { attemptOf, doingOf, isOver, summaryOf } from './operation.words.js';
import type { ShownOperation } from './operation.tree.js';

interface Line {
  readonly at: string;
  readonly text: string;
}

/** What changed, as whole lines for a log: every step once when it ends, every trouble once, and the end. */
export const linesBetween = (before: OperationView | undefined, shown: ShownOperation): readonly string[] => {
  const { operation, at, version } = shown;
  const beganMs = Date.parse(operation.startedAt);
  const changes = [...stepLines(before, operation), ...nodeLines(before?.nodes ?? [], operation.nodes)];
  return [
    ...(before === undefined && (changes.length > 0 || !isOver(operation)) ? [beginLine(operation, version)] : []),
    ...changes.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at)),
    ...(before === undefined || !isOver(before) ? endLine(operation) : []),
  ].map(({ at: time, text }) => {
    const elapsed = formatDuration(Math.max(0, Date.parse(time) - beganMs)).padStart(7);
    return `${elapsed}  ${at.cluster}  ${text.replaceAll(/\s+/g, ' ')}`;
  });
};

/** One that was over before it was seen has its beginning, too, so that several in a row can be distinguished. */
const beginLine = (operation: OperationView, version: string): Line => ({
  at: operation.startedAt,
  text: [doingOf(operation), version].filter(Boolean).join(', '),
});

const stepLines = (before: OperationView | undefined, after: OperationView): readonly Line[] => {
  const known = new Map(before?.steps.map((step) => [step.name, step]));
  return after.steps.flatMap((step) => {
    const past = known.get(step.name);
    if (step.state === 'done') return past?.state === 'done' ? [] : doneLine(step, after);
    const { failure, state } = step;
    if (failure === null || state === 'failed' || past?.failure?.at === failure.at) return [];
    const attempt = attemptOf(failure, Date.parse(failure.at));
    return [{ at: failure.at, text: `${step.title}: ${failure.sentence} (${attempt})` }];
  });
};

/** What was done before this operation began, a retry does not repeat. */
const doneLine = (step: StepView, operation: OperationView): readonly Line[] => {
  const { title, total, note, durationMs, finishedAt } = step;
  if (finishedAt === null || finishedAt < operation.startedAt) return [];
  const count = total === null ? '' : ` ${total} of ${total}`;
  const took = durationMs === null ? '' : `, ${formatDuration(durationMs)}`;
  return [{ at: finishedAt, text: `${title}: done${count}${note === '' ? '' : ` (${note})`}${took}` }];
};

const nodeLines = (before: readonly NodeProgressView[], after: readonly NodeProgressView[]): readonly Line[] => {
  const known = new Map(before.map((node) => [node.name, node]));
  return after.flatMap(({ name, state, since, reason }): readonly Line[] => {
    const former = known.get(name);
    // Why it waits changes with each attempt; that it does is said once.
    const waited = former?.state === 'waiting' && former.reason !== '';
    if (state === 'waiting' && reason !== '' && !waited) return [{ at: since, text: `${name}: ${reason}` }];
    const past = former?.state;
    if (past === undefined || past === state) return [];
    if (state === 'lost') return [{ at: since, text: `${name}: no heartbeat any more` }];
    if (state === 'not-ready') return [{ at: since, text: `${name}: NotReady: ${reason || 'no reason given'}` }];
    if (state !== 'ready') return [];
    if (past === 'lost') return [{ at: since, text: `${name}: sends heartbeats again` }];
    return past === 'not-ready' ? [{ at: since, text: `${name}: Ready again` }] : [];
  });
};

const endLine = (operation: OperationView): readonly Line[] => {
  const { finishedAt, message, phase } = operation;
  if (finishedAt === null) return [];
  const summary = summaryOf(operation);
  const isPlain = phase === 'Succeeded' || message === '';
  return [{ at: finishedAt, text: isPlain ? summary : `${summary}: ${message}` }];
};
