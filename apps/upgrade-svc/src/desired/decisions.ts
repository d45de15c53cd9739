import { isRefusal, ExternalFailure, type Fact, type NodeName } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';
import type { Handle, QueuedTask } from '@fairlead/event-sourcing/jetstream';
import { desired, type DesiredCommand } from './desired.decider.js';

/** The parts of a task that a decision needs. */
type TaskOrigin = Pick<QueuedTask, 'namespace' | 'cluster' | 'cause'>;

interface Decision<State, C extends Command, E extends Fact> {
  readonly decider: Decider<State, C, E>;
  readonly context: string;
  readonly command: C;
}

/**
 * Decides in a stream of the cluster of a task, and returns the state after it. A refusal ends the task, because no
 * caller could receive it, unless it results from a concurrent write.
 */
export const decideFor = async <State, C extends Command, E extends Fact>(
  handle: Handle,
  { namespace, cluster, cause }: TaskOrigin,
  { decider, context, command }: Decision<State, C, E>,
): Promise<State> => {
  const decided = await handle(decider, { namespace, cluster, context }, command, cause);
  if (!isRefusal(decided)) return decided.state;
  const { message, code } = decided;
  const target = `${namespace}/${cluster} ${context}`;
  throw new ExternalFailure({ operation: command.type, target, message, retryable: code === 'conflict.concurrent' });
};

/** Decides the desired state of a node in the node's own stream. */
export const sayToNode = async (
  handle: Handle,
  task: TaskOrigin,
  node: NodeName,
  command: DesiredCommand,
): Promise<void> => {
  await decideFor(handle, task, { decider: desired, context: `desired-${node}`, command });
};
