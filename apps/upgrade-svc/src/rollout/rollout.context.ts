import type { NodeName } from '@fairlead/contracts';
import type { TaskContext } from '@fairlead/event-sourcing/jetstream';
import type { Clock } from '@fairlead/service-kit';
import type { EffectFact, RolloutCommand } from './rollout.commands.js';
import type { Rollout } from './rollout.state.js';
import type { AnyRolloutTask, RolloutTask } from './rollout.tasks.js';
import { rolloutView, type RolloutView, type TrackedOperation } from './rollout.view.js';

/** A rollout task, as its handler receives it. */
export type RolloutContext<T extends AnyRolloutTask = AnyRolloutTask> = TaskContext<Rollout, RolloutCommand, T>;

/** The rollout as of the start of the task. */
export const viewOf = ({ state, data }: RolloutContext): RolloutView => {
  const view = state.status === 'absent' ? null : rolloutView(state);
  if (view === null) throw new Error(`${data.type} without an upgrade`);
  return view;
};

/** The task's operation; undefined: the task belongs to the upgrade as a whole. */
export const operationOf = (task: RolloutContext): TrackedOperation | undefined =>
  viewOf(task).operations.find(({ operation }) => operation.id === task.data.operation);

/** The IDs of a fact about an operation. */
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
