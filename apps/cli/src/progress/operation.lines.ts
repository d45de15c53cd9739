import type { NodeProgressView, OperationView, StepView } from '../api/views.js';
import { formatDuration } from '../output/duration.js';
import { attemptOf, doingOf, isOver, summaryOf } from './operation.words.js';
import type { ShownOperation } from './operation.tree.js';

interface Line {
  readonly at: string;
  readonly text: string;
}

/** The changes as lines of a log: every completed step once, every problem once, and the result. */
export const linesBetween = (before: OperationView | undefined, shown: ShownOperation): readonly string[] => {
  const { operation, at, version } = shown;
  const beganMs = Date.parse(operation.startedAt);
  const changes = [...stepLines(before, operation), ...nodeLines(before, operation), ...adviceLines(before, operation)];
  return [
    ...(before === undefined && (changes.length > 0 || !isOver(operation)) ? [beginLine(operation, version)] : []),
    ...changes.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at)),
    ...(before === undefined || !isOver(before) ? endLine(operation) : []),
  ].map(({ at: time, text }) => {
    const elapsed = formatDuration(Math.max(0, Date.parse(time) - beganMs)).padStart(7);
    return `${elapsed}  ${at.cluster}  ${text.replaceAll(/\s+/g, ' ')}`;
  });
};

/** An operation that had ended before its first view has a start line too, so that several can be distinguished. */
const beginLine = (operation: OperationView, version: string): Line => ({
  at: operation.startedAt,
  text: [doingOf(operation), version].filter(Boolean).join(', '),
});

/** Advice, once; at the end it is part of the command's failure. */
const adviceLines = (before: OperationView | undefined, after: OperationView): readonly Line[] => {
  if (isOver(after)) return [];
  const known = new Set(before?.nextActions);
  const at = latestTrouble(after);
  return after.nextActions.filter((action) => !known.has(action)).map((action) => ({ at, text: `next: ${action}` }));
};

const latestTrouble = ({ startedAt, failures, nodes }: OperationView): string =>
  [startedAt, ...failures.map(({ at }) => at), ...nodes.map(({ since }) => since)].toSorted().at(-1) ?? startedAt;

const stepLines = (before: OperationView | undefined, after: OperationView): readonly Line[] => {
  const known = new Map(before?.steps.map((step) => [step.name, step]));
  return after.steps.flatMap((step) => {
    const past = known.get(step.name);
    if (step.state === 'done') return past?.state === 'done' ? [] : doneLine(step, after);
    const { failure, state } = step;
    const noted = noteLine(step, past);
    if (failure === null || state === 'failed' || past?.failure?.at === failure.at) return noted;
    const attempt = attemptOf(failure, Date.parse(failure.at));
    return [...noted, { at: failure.at, text: `${step.title}: ${failure.sentence} (${attempt})` }];
  });
};

/** Steps whose note describes their current activity. */
const NOTED: ReadonlySet<string> = new Set(['restore-etcd']);

const noteLine = ({ name, title, state, note, startedAt }: StepView, past: StepView | undefined): readonly Line[] =>
  NOTED.has(name) && state === 'running' && note !== '' && note !== past?.note && startedAt !== null
    ? [{ at: startedAt, text: `${title}: ${note}` }]
    : [];

/** Omits steps that were completed before this operation started: a retry does not repeat them. */
const doneLine = (step: StepView, operation: OperationView): readonly Line[] => {
  const { title, total, note, durationMs, finishedAt } = step;
  if (finishedAt === null || finishedAt < operation.startedAt) return [];
  const count = total === null ? '' : ` ${total} of ${total}`;
  const took = durationMs === null ? '' : `, ${formatDuration(durationMs)}`;
  return [{ at: finishedAt, text: `${title}: done${count}${note === '' ? '' : ` (${note})`}${took}` }];
};

/** A reason without the parts that change with each attempt. */
const lasting = (reason: string): string =>
  reason.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '').replaceAll(/attempt \d+/g, '');

const nodeLines = (before: OperationView | undefined, after: OperationView): readonly Line[] => {
  const known = new Map(before?.nodes.map((node) => [node.name, node]));
  const isOfStep = (reason: string): boolean => after.failures.some(({ sentence }) => sentence === reason);
  return after.nodes.flatMap((node) => {
    const { name, state, since, reason } = node;
    const former = known.get(name);
    const isUnderWay = state === 'waiting' || state === 'running';
    if (isUnderWay && reason !== '' && !isOfStep(reason))
      return lasting(former?.reason ?? '') === lasting(reason) ? [] : [{ at: since, text: saidOf(name, reason) }];
    return former === undefined || former.state === state ? [] : changeLine(node, former.state);
  });
};

const saidOf = (name: string, reason: string): string => (reason.includes(name) ? reason : `${name}: ${reason}`);

const changeLine = (
  { name, state, since, reason }: NodeProgressView,
  past: NodeProgressView['state'],
): readonly Line[] => {
  if (state === 'lost') return [{ at: since, text: `${name}: no heartbeat any more` }];
  if (state === 'not-ready') return [{ at: since, text: `${name}: NotReady: ${reason || 'no reason given'}` }];
  if (state !== 'ready') return [];
  if (past === 'lost') return [{ at: since, text: `${name}: sends heartbeats again` }];
  return past === 'not-ready' ? [{ at: since, text: `${name}: Ready again` }] : [];
};

const endLine = (operation: OperationView): readonly Line[] => {
  const { finishedAt, message, phase } = operation;
  if (finishedAt === null) return [];
  const summary = summaryOf(operation);
  const isPlain = phase === 'Succeeded' || message === '';
  return [{ at: finishedAt, text: isPlain ? summary : `${summary}: ${message}` }];
};
