import type { NodeName, StreamId } from '@fairlead/contracts';
import type { TaskContext } from '@fairlead/event-sourcing/jetstream';
import type { BootstrapCommand } from './bootstrap.decider.js';
import type { TaskData } from './bootstrap.reconciler.js';
import type { Bootstrap, Host, Present } from './bootstrap.state.js';

/** A running task of the bootstrap. */
export interface RunningTask extends TaskContext<Bootstrap, BootstrapCommand, TaskData> {
  /** Steps are desired only for an existing cluster. */
  readonly state: Present;
}

export const streamOf = ({ namespace, cluster }: Pick<RunningTask, 'namespace' | 'cluster'>): StreamId => ({
  namespace,
  cluster,
  context: 'bootstrap',
});

/** The host of a step. A missing host is a bug, because the plan contains it. */
export const hostOf = ({ key, data, state }: RunningTask): Host => {
  const host = data.node === undefined ? undefined : state.cluster.hosts[data.node];
  if (host === undefined) throw new Error(`${key} is about a host that the cluster does not have`);
  return host;
};

/** Other steps that are running on a node now, in any replica. */
export const othersOn = async (node: NodeName, step: RunningTask): Promise<readonly string[]> =>
  (await step.othersAtWork()).filter((key) => key.endsWith(`/${node}`));
