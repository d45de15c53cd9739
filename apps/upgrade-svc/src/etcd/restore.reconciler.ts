import type { ClusterUid, NodeName, RestoreStep } from '@fairlead/contracts';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { consequences, restore, type RecordVerified, type StepOfRestore } from './restore.decider.js';
import { deadlineOf, type RestoreFact } from './restore.planner.js';
import type { Restores } from './restore.state.js';

/** Data of the task: agents may no longer perform steps of a restore. */
export interface ReleaseRestore {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly nodes: readonly NodeName[];
}

/** The steps of this service; bootstrap-svc places the snapshot. */
const OURS: ReadonlySet<RestoreStep> = new Set(['stop', 'restore', 'start', 'verify', 'refresh', 'undo']);

const stepTask = (data: StepOfRestore): Task => ({
  type: 'TakeRestoreStep',
  key: `TakeRestoreStep/${data.requestId}/${data.step}`,
  reason: `the restore is at ${data.step}`,
  data,
});

const releaseTask = (data: ReleaseRestore): Task => ({
  type: 'ReleaseRestore',
  key: 'ReleaseRestore',
  reason: 'the restore has ended',
  data,
});

const tasksOf = ({ uid, current, permitted }: Restores): readonly Task[] => {
  if (uid === null) return [];
  if (current === null) return permitted.length === 0 ? [] : [releaseTask({ uid, nodes: permitted })];
  const { requestId, step } = current;
  return step === 'asked' || !OURS.has(step) ? [] : [stepTask({ uid, requestId, step })];
};

/** Creates a task for each stated step of a restore, and states what follows from the results of others. */
export const restoreReconciler: Reconciler<Restores, RecordVerified, RestoreFact> = {
  name: 'etcd-restore',
  version: 3,
  context: 'rollout',
  decider: restore,
  generation: ({ uid }) => uid ?? '',
  tasks: tasksOf,
  facts: consequences,

  wakeAt: (state, now) => {
    const deadline = deadlineOf(state);
    return deadline !== null && deadline > now ? deadline : null;
  },
};
