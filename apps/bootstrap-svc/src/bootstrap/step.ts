import type { NodeName, StreamId } from '@fairlead/contracts';
import type { TaskContext } from '@fairlead/event-sourcing/jetstream';
import type { BootstrapCommand } from './bootstrap.decider.js';
import type { StepData } from './bootstrap.reconciler.js';
import type { Bootstrap, Host, Present } from './bootstrap.state.js';

/** A task of the bootstrap at work. */
export interface Step extends TaskContext<Bootstrap, BootstrapCommand, StepData> {
  /** A step is desired only of a cluster that is there. */
  readonly state: Present;
}

export const streamOf = ({ namespace, cluster }: Pick<Step, 'namespace' | 'cluster'>): StreamId => ({
  namespace,
  cluster,
  context: 'bootstrap',
});

/** The host that a step is about. Its absence is a bug: the plan named it. */
export const hostOf = ({ key, data, state }: Step): Host => {
  const host = data.node === undefined ? undefined : state.cluster.hosts[data.node];
  if (host === undefined) throw new Error(`${key} is about a host that the cluster does not have`);
  return host;
};

/** Other steps that are at work on a node now, in any replica. */
export const othersOn = async (node: NodeName, step: Step): Promise<readonly string[]> =>
  (await step.othersAtWork()).filter((key) => key.endsWith(`/${node}`));
