import type { OperationPhase } from '@fairlead/contracts';
import type { HeldBy } from '../lifecycle/held.hooks.js';
import type { StepSequence } from './step.sequence.js';
import type { OperationDoc } from './operation.evolve.js';

/** Which cluster the commands are about. */
interface NamedCluster {
  readonly namespace: string;
  readonly cluster: string;
}

const DEFAULT_NAMESPACE = 'default';

type Command = (command: string, options?: string) => string;

/** `fairlead cluster retry demo -n team-a`. */
const commandOf =
  ({ namespace, cluster }: NamedCluster): Command =>
  (command, options = '') =>
    ['fairlead', command, cluster, options, namespace === DEFAULT_NAMESPACE ? '' : `-n ${namespace}`]
      .filter(Boolean)
      .join(' ');

const skipOf = (command: Command, { hook, point, node }: HeldBy): string => {
  const which = `${hook} --point ${point}${node === null ? '' : ` --node ${node}`}`;
  return `Continue without the hook: ${command('hook skip', `${which} --reason "<reason>"`)}`;
};

const RETRIED: ReadonlySet<StepSequence> = new Set<StepSequence>([
  'create',
  'add-nodes',
  'remove-node',
  'replace-node',
  'replace-node-first',
  'replace-nodes',
]);

const afterFailure = ({ course, phase, isOver }: OperationDoc, command: Command): readonly string[] => {
  if (course === 'restore-etcd' || course === 'verify-snapshot') return [`List the snapshots: ${command('etcd list')}`];
  if (course === 'snapshot-etcd') return [`Take another snapshot: ${command('etcd snapshot')}`];
  if (isOver === true || !RETRIED.has(course)) return [];
  if (phase === 'Rejected' && course !== 'create') return [];
  const retry =
    phase === 'Rejected'
      ? `Check the request again: ${command('cluster retry')}`
      : `Continue from the failed step: ${command('cluster retry')}`;
  if (course === 'add-nodes') return [retry, `Give the request up: ${command('node abandon')}`];
  if (course === 'remove-node') return [retry, `Keep the node: ${command('node cancel-removal', 'NODE')}`];
  return course === 'create' ? [retry, `Delete the cluster: ${command('cluster delete')}`] : [retry];
};

const isWaiting = ({ acted = {} }: OperationDoc): boolean => Object.values(acted).some(({ waits }) => waits === true);

const ENDED_BADLY: ReadonlySet<OperationPhase> = new Set<OperationPhase>(['Failed', 'Rejected']);

/** What an operator can do about an operation, each with its command; none while it goes on by itself. */
export const nextActionsOf = (at: NamedCluster, doc: OperationDoc, held: readonly HeldBy[]): readonly string[] => {
  const command = commandOf(at);
  if (ENDED_BADLY.has(doc.phase)) return afterFailure(doc, command).map((one) => one.replace('NODE', doc.node ?? ''));
  if (doc.phase !== 'Running') return [];
  const skips = held.map((one) => skipOf(command, one));
  return isWaiting(doc) ? [...skips, `Cancel the request: ${command('node cancel', doc.id)}`] : skips;
};
