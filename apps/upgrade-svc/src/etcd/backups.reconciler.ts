import type { ClusterUid, SnapshotEnd } from '@fairlead/contracts';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { backups, type BackupsCommand, type BackupsFact } from './backups.decider.js';
import { expired, nextMoment, nextRun, type Expired, type Retention } from './backups.planner.js';
import type { Backups } from './backups.state.js';

/** Data of the task: a run of the schedule is due. */
export interface BackUpEtcd {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly scheduledAt: string;
  readonly verify: boolean;
}

/** Data of the task: the snapshot has expired. */
export interface DeleteSnapshot {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly snapshot: string;
  readonly reason: SnapshotEnd;
}

/** The oldest first; one that is being deleted is included. */
const DELETED_AT_ONCE_MAX = 10;

const REASONS: Readonly<Record<SnapshotEnd, string>> = {
  count: 'there are enough newer ones',
  age: 'it is older than snapshots are kept',
};

const backUp = ({ uid, policy }: Backups, scheduledAt: string): readonly Task[] => {
  if (uid === null || policy === null) return [];
  const data: BackUpEtcd = { uid, scheduledAt, verify: policy.verify };
  return [{ type: 'BackUpEtcd', key: `BackUpEtcd/${scheduledAt}`, reason: `scheduled for ${scheduledAt}`, data }];
};

const deletion = (uid: ClusterUid, { name: snapshot, reason }: Expired): Task => {
  const data: DeleteSnapshot = { uid, snapshot, reason };
  return { type: 'DeleteSnapshot', key: `DeleteSnapshot/${snapshot}`, reason: REASONS[reason], data };
};

/** Takes scheduled snapshots, and deletes expired ones. */
export const backupsReconciler = (retention: Retention): Reconciler<Backups, BackupsCommand, BackupsFact> => ({
  name: 'etcd-backups',
  version: 2,
  context: 'rollout',
  decider: backups,
  generation: ({ uid }) => uid ?? '',

  tasks: (state, now) => {
    const { uid, serves } = state;
    if (uid === null || !serves) return [];
    const run = nextRun(state);
    return [
      ...(run === null || run.dueAt > now ? [] : backUp(state, run.scheduledAt)),
      ...expired(state, now, retention)
        .slice(0, DELETED_AT_ONCE_MAX)
        .map((one) => deletion(uid, one)),
    ];
  },

  wakeAt: nextMoment,

  failed: (_state, { type, data }, { cause, nextAttemptAt }) => {
    if (type !== 'BackUpEtcd' || nextAttemptAt !== null) return [];
    const { uid, scheduledAt } = data as BackUpEtcd;
    return [{ type: 'EtcdBackupFailed', data: { uid, scheduledAt, cause } }];
  },
});
