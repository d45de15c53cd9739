import { attemptWords } from '@fairlead/domain';
import type { NodeProgressView, OperationView, StepView } from '../api/views.js';
import { formatDuration } from '../output/duration.js';

type Failure = OperationView['failures'][number];
type Kind = OperationView['kind'];

const DOING: Readonly<Record<Kind, string>> = {
  create: 'creating',
  'add-nodes': 'adding nodes',
  'remove-node': 'removing a node',
  'replace-node': 'replacing a node',
  'replace-nodes': 'replacing nodes',
  'reboot-nodes': 'rebooting nodes',
  'drain-nodes': 'draining nodes',
  'cordon-nodes': 'cordoning nodes',
  'uncordon-nodes': 'uncordoning nodes',
  'repair-nodes': 'repairing nodes',
  'snapshot-etcd': 'taking a snapshot of etcd',
  'verify-snapshot': 'verifying a snapshot of etcd',
  'restore-etcd': 'restoring etcd',
  delete: 'deleting',
  upgrade: 'upgrading',
  retry: 'retrying',
};
const DONE: Readonly<Record<Kind, string>> = {
  create: 'Ready',
  'add-nodes': 'Ready',
  'remove-node': 'Ready',
  'replace-node': 'Ready',
  'replace-nodes': 'Ready',
  'reboot-nodes': 'Rebooted',
  'drain-nodes': 'Drained',
  'cordon-nodes': 'Cordoned',
  'uncordon-nodes': 'Uncordoned',
  'repair-nodes': 'Repaired',
  'snapshot-etcd': 'Snapshot taken',
  'verify-snapshot': 'Snapshot verified',
  'restore-etcd': 'etcd restored',
  delete: 'Deleted',
  upgrade: 'Upgraded',
  retry: 'Ready',
};

/** The kind of an operation; for a retry, that of the original one. */
export const courseOf = ({ kind, retryOf }: OperationView): Kind => retryOf ?? kind;

/** Operations that "fairlead node cancel" ends by ID. */
const CANCELLABLE: ReadonlySet<Kind> = new Set([
  ...(['reboot-nodes', 'drain-nodes', 'cordon-nodes', 'uncordon-nodes', 'repair-nodes'] as const),
]);

const againOf = ({ retries }: OperationView): string => (retries === 0 ? '' : ` (retry ${retries})`);

/** What the operation does while it runs; names a single node that is removed. */
export const doingOf = (operation: OperationView): string => {
  const course = courseOf(operation);
  const [node, ...others] = operation.nodes;
  const doing =
    course === 'remove-node' && node !== undefined && others.length === 0 ? `removing ${node.name}` : DOING[course];
  return `${doing}${againOf(operation)}${CANCELLABLE.has(operation.kind) ? ` (operation ${operation.id})` : ''}`;
};

/** A summary of the operation. */
export const summaryOf = (operation: OperationView): string => {
  const { phase, reason } = operation;
  const again = againOf(operation);
  switch (phase) {
    case 'Running':
      return doingOf(operation);
    case 'Succeeded':
      return DONE[courseOf(operation)];
    case 'Failed':
    case 'Rejected':
    case 'Cancelled':
    case 'Superseded':
      return `${phase}${again}${reason === '' ? '' : ` (${reason})`}`;
  }
};

export const isOver = ({ phase }: OperationView): boolean => phase !== 'Running';
export const hasFailed = ({ phase }: OperationView): boolean => phase !== 'Running' && phase !== 'Succeeded';

/** No attempts follow after the end of an operation, whatever was planned. */
export const attemptIn = (operation: OperationView, failure: Failure, nowMs: number): string =>
  attemptOf(isOver(operation) ? { ...failure, nextAttemptAt: null } : failure, nowMs);

/** `attempt 2 of 5, next in 4.0s`. */
export const attemptOf = (failure: Failure, nowMs: number): string =>
  attemptWords(failure, (nextAttemptAt) => {
    const nextMs = Date.parse(nextAttemptAt) - nowMs;
    return nextMs > 0 ? `next in ${formatDuration(nextMs)}` : 'trying again';
  });

/** Why the step makes no progress, if known; for a failed step, the message of the operation. */
export const troubleOf = ({ failure, state }: StepView, { message }: OperationView): string =>
  failure?.sentence ?? (state === 'failed' ? message : '');

const STAGE_WORDS: Readonly<Record<NodeProgressView['stage'], string>> = {
  planned: 'machine requested',
  created: 'machine runs',
  reached: 'reached over SSH',
  'agent-started': 'agent runs',
  initialized: 'software installed',
  bootstrapped: 'prepared',
  joined: 'joined',
  ready: 'Ready',
  drained: 'drained',
  removed: 'out of the cluster',
};

const silentWords = (stage: NodeProgressView['stage'], silentMs: number): string =>
  stage === 'ready'
    ? `Unknown: last seen Ready ${formatDuration(silentMs)} ago`
    : `${STAGE_WORDS[stage]}, no heartbeat for ${formatDuration(silentMs)}`;

export const nodeWords = ({ stage, state, since, version }: NodeProgressView, nowMs: number): string => {
  if (state === 'lost') return silentWords(stage, Math.max(0, nowMs - Date.parse(since)));
  return [state === 'not-ready' ? 'NotReady' : STAGE_WORDS[stage], version].filter(Boolean).join(' ');
};
