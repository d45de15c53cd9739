import type { ClusterUid } from '@fairlead/contracts';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { requestedSnapshots, type RecordRequested, type Requested, type SnapshotFact } from './snapshots.decider.js';

/** Data of the task: a user requested a snapshot. */
export interface SaveEtcd {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
}

/** Data of the task: the cluster is deleted, and its snapshots with it. */
export interface ForgetSnapshots {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
}

const saving = (uid: ClusterUid, requestId: string): Task => {
  const data: SaveEtcd = { uid, requestId };
  return { type: 'SaveEtcd', key: `SaveEtcd/${requestId}`, reason: 'a user requested a snapshot', data };
};

const forgetting = (uid: ClusterUid): Task => {
  const data: ForgetSnapshots = { uid };
  return { type: 'ForgetSnapshots', key: `ForgetSnapshots/${uid}`, reason: 'the cluster is deleted', data };
};

/** Requested snapshots are taken; those of a deleted cluster are destroyed. */
export const snapshotsReconciler: Reconciler<Requested, RecordRequested, SnapshotFact> = {
  name: 'etcd-snapshots',
  version: 3,
  context: 'rollout',
  decider: requestedSnapshots,
  generation: ({ uid }) => uid ?? '',
  tasks: ({ uid, open }) => (uid === null ? [] : open.map((requestId) => saving(uid, requestId))),
  followUps: (_state, { event }) => (event?.type === 'ClusterDeleted' ? [forgetting(event.data.uid)] : []),

  failed: (_state, { type, data }, { cause, nextAttemptAt }) => {
    if (type !== 'SaveEtcd' || nextAttemptAt !== null) return [];
    const { uid, requestId } = data as SaveEtcd;
    return [{ type: 'EtcdSnapshotFailed', data: { uid, requestId, cause } }];
  },
};
