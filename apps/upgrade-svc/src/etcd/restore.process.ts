import type { ClusterUid, NodeName, RestoreStep, StoredEvent } from '@fairlead/contracts';
import { cancelTimer, job, timer, type Process, type Reaction } from '@fairlead/event-sourcing';
import { advance, deadlineOf } from './restore.planner.js';
import { evolve, NO_RESTORES, type Restores } from './restore.state.js';

/** Data of the job: something follows of a restore. */
export interface AdvanceRestoreJob {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
}

/** Data of the job: this step begins. */
export interface RestoreStepJob {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
  readonly step: RestoreStep;
}

/** Data of the job: the restore has ended, and agents may change nothing any more. */
export interface ReleaseRestoreJob {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly nodes: readonly NodeName[];
}

export interface FollowingRestore {
  readonly restores: Restores;
  readonly reactions: readonly Reaction[];
}

const WAKE = 'etcd-restore';
const OURS: ReadonlySet<RestoreStep> = new Set(['stop', 'restore', 'start', 'verify', 'refresh', 'undo']);

const stepReactions = (before: Restores, { uid, current }: Restores): readonly Reaction[] => {
  if (uid === null || current === null || current.step === 'asked' || !OURS.has(current.step)) return [];
  const same = before.current?.requestId === current.requestId && before.current.step === current.step;
  const { requestId, step } = current;
  return same ? [] : [job('TakeRestoreStep', { uid, requestId, step } satisfies RestoreStepJob)];
};

const timerReactions = (before: Restores, after: Restores): readonly Reaction[] => {
  const [was, is] = [deadlineOf(before), deadlineOf(after)];
  if (was === is) return [];
  return [is === null ? cancelTimer(WAKE) : timer(WAKE, is)];
};

const endReactions = (before: Restores, { uid, current, nodes }: Restores): readonly Reaction[] =>
  uid === null || before.current === null || current !== null
    ? []
    : [job('ReleaseRestore', { uid, nodes: Object.keys(nodes) as NodeName[] } satisfies ReleaseRestoreJob)];

const follow = (before: Restores, after: Restores, event: StoredEvent): readonly Reaction[] => [
  ...stepReactions(before, after),
  ...timerReactions(before, after),
  ...endReactions(before, after),
  ...(after.uid !== null && advance(after, event.meta.time).length > 0
    ? [job('AdvanceRestore', { uid: after.uid } satisfies AdvanceRestoreJob)]
    : []),
];

/** Steps of a restore become work as soon as they are said, and what follows from what others did is said. */
export const restoreProcess: Process<FollowingRestore> = {
  name: 'etcd-restore',
  version: 1,
  initial: { restores: NO_RESTORES, reactions: [] },

  evolve: (before, event) => {
    const restores = evolve(before.restores, event);
    if (event.type === 'ClusterDeleted') return undefined;
    if (restores === before.restores && before.reactions.length === 0) return before;
    return { restores, reactions: follow(before.restores, restores, event) };
  },

  react: ({ reactions }, event) => (event.type === 'ClusterDeleted' ? [cancelTimer(WAKE)] : reactions),

  due: ({ restores: { uid } }) => (uid === null ? [] : [job('AdvanceRestore', { uid } satisfies AdvanceRestoreJob)]),
};
