import { isRefusal, WorldFailure, type Fact, type NodeName } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';
import type { Handle, Job } from '@fairlead/event-sourcing/jetstream';
import { desired, type DesiredCommand } from './desired.decider.js';

/** What a decision takes from the job that it is made for. */
type About = Pick<Job, 'namespace' | 'cluster' | 'cause'>;

interface Decision<State, C extends Command, E extends Fact> {
  readonly decider: Decider<State, C, E>;
  readonly context: string;
  readonly command: C;
}

/**
 * Decides in a stream of the cluster that a job is about, and answers with the state after it. There is no caller to get a
 * refusal: it ends the job, unless others were only quicker.
 */
export const decideFor = async <State, C extends Command, E extends Fact>(
  handle: Handle,
  { namespace, cluster, cause }: About,
  { decider, context, command }: Decision<State, C, E>,
): Promise<State> => {
  const decided = await handle(decider, { namespace, cluster, context }, command, cause);
  if (!isRefusal(decided)) return decided.state;
  const { message, code } = decided;
  const target = `${namespace}/${cluster} ${context}`;
  throw new WorldFailure({ operation: command.type, target, message, retryable: code === 'conflict.concurrent' });
};

/** Says what is desired of a node, in the node's own stream. */
export const sayToNode = async (handle: Handle, job: About, node: NodeName, command: DesiredCommand): Promise<void> => {
  await decideFor(handle, job, { decider: desired, context: `desired-${node}`, command });
};
