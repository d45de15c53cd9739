import type { StepFailureView } from '@fairlead/contracts';
import type { HeldBy } from '../lifecycle/held.hooks.js';
import type { OperationDoc } from './operation.evolve.js';

/** Whether the hook holds a step of the operation. Upgrades and requests about nodes show theirs by node. */
const holds = ({ course, node, phase, acted }: OperationDoc, held: HeldBy): boolean => {
  if (phase !== 'Running' || acted !== undefined || held.upgradeId !== undefined || held.requestId !== undefined)
    return false;
  if (held.node !== null) return held.node === node;
  switch (held.point) {
    case 'BeforeCreate':
    case 'BeforeControlPlaneInitialized':
      return course === 'create';
    case 'BeforeClusterDelete':
    case 'AfterClusterDelete':
      return course === 'delete';
    default:
      return false;
  }
};

const sentenceOf = ({ hook, point, node, failed, message }: HeldBy): string => {
  const what = `the hook ${hook} (${point}${node === null ? '' : ` of ${node}`})`;
  return `${what} ${failed ? 'failed' : 'asked for more time'}${message === '' ? '' : `: ${message}`}`;
};

/** The hooks that hold a step of the operation, and those that hold a node of a request about nodes. */
export const holding = (
  doc: OperationDoc,
  hooks: Readonly<Record<string, HeldBy>> = {},
): { readonly ofSteps: readonly HeldBy[]; readonly ofNodes: readonly HeldBy[] } => {
  const all = Object.values(hooks);
  return {
    ofSteps: all.filter((held) => holds(doc, held)),
    ofNodes: all.filter(({ requestId }) => requestId !== undefined && requestId === doc.requestId),
  };
};

/** What a hook answered, as a failed attempt at the step that it holds: the one in progress. */
export const hookFailure = (held: HeldBy): StepFailureView => {
  const { hook, point, node, message, attempt = 1, since, answeredAt = since, nextAttemptAt } = held;
  return {
    at: answeredAt,
    step: 'CallHook',
    node,
    cause: { operation: `call hook ${hook}`, target: node ?? point, message },
    sentence: sentenceOf(held),
    attempt,
    attemptsMax: attempt,
    nextAttemptAt,
  };
};
