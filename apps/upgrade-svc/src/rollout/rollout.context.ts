import type { NodeName, PlanOperation } from '@fairlead/contracts';
import type { TaskContext } from '@fairlead/event-sourcing/jetstream';
import type { Clock } from '@fairlead/service-kit';
import type { EffectFact, RolloutCommand } from './rollout.commands.js';
import { NEW_OPERATION, type ClusterState, type OperationState, type Rollout, type Upgrade } from './rollout.state.js';
import type { AnyRolloutTask, RolloutTask } from './rollout.tasks.js';

/** A task of the rollout, as its handler gets it. */
export type RolloutContext<T extends AnyRolloutTask = AnyRolloutTask> = TaskContext<Rollout, RolloutCommand, T>;

interface Known {
  readonly known: ClusterState;
  readonly upgrade: Upgrade;
  readonly operation: PlanOperation | undefined;
  readonly operationState: OperationState;
}

/** What was known of the rollout when the task began. */
export const knownTo = ({ state, data }: RolloutContext): Known => {
  if (state.status === 'absent' || state.upgrade === null) throw new Error(`${data.type} without an upgrade`);
  const { upgrade } = state;
  return {
    known: state,
    upgrade,
    operation: upgrade.plan?.operations.find(({ id }) => id === data.operation),
    operationState: upgrade.operations[data.operation ?? ''] ?? NEW_OPERATION,
  };
};

/** Where a fact about an operation belongs. */
export const whereOf = <T extends AnyRolloutTask & { readonly operation: string }>({ data }: RolloutContext<T>) => ({
  uid: data.uid,
  upgradeId: data.upgradeId,
  operation: data.operation,
});

export const nodeOf = ({ data }: { readonly data: RolloutTask }): NodeName => {
  if (data.node === undefined) throw new Error(`${data.type} is about a node, and none was named`);
  return data.node;
};

export const recordFacts = async (
  task: Pick<RolloutContext, 'record'>,
  clock: Clock,
  ...facts: readonly EffectFact[]
): Promise<void> => {
  await task.record({ type: 'RecordFact', data: { facts, now: clock.now().toISOString() } });
};
