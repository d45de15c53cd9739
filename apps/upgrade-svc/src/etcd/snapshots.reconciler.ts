import type { ClusterUid, NodeName } from '@fairlead/contracts';
import type { NodeStepBegun } from '@fairlead/domain';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { requestedSnapshots, type RecordRequested, type Requested, type SnapshotFact } from './snapshots.decider.js';

/** Data of the task: a user requested a snapshot. */
export interface SaveEtcd {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
}

/** Data of the task: a step that changes this control plane waits for a snapshot. */
export interface SaveBeforeStep {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
  readonly node: NodeName;
}

/** Data of the task: the cluster is deleted, with its snapshots. */
export interface ForgetSnapshots {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
}

const saving = (uid: ClusterUid, requestId: string): Task => {
  const data: SaveEtcd = { uid, requestId };
  return { type: 'SaveEtcd', key: `SaveEtcd/${requestId}`, reason: 'a user requested a snapshot', data };
};

/** One at a time, because each waiting step may begin after any of them. */
const beforeSteps = (uid: ClusterUid, steps: readonly NodeStepBegun[]): readonly Task[] =>
  steps.slice(0, 1).map(({ node, requestId }) => {
    const data: SaveBeforeStep = { uid, requestId, node };
    return { type: 'SaveBeforeStep', key: `SaveBeforeStep/${requestId}`, reason: `${node} changes next`, data };
  });

const forgetting = (uid: ClusterUid): Task => {
  const data: ForgetSnapshots = { uid };
  return { type: 'ForgetSnapshots', key: `ForgetSnapshots/${uid}`, reason: 'the cluster is deleted', data };
};

/** Takes requested snapshots and those before changes of control planes; destroys those of a deleted cluster. */
export const snapshotsReconciler: Reconciler<Requested, RecordRequested, SnapshotFact> = {
  name: 'etcd-snapshots',
  version: 4,
  context: 'rollout',
  decider: requestedSnapshots,
  generation: ({ uid }) => uid ?? '',
  tasks: ({ uid, open, steps }) =>
    uid === null ? [] : [...open.map((requestId) => saving(uid, requestId)), ...beforeSteps(uid, steps)],
  followUps: (_state, { event }) => (event?.type === 'ClusterDeleted' ? [forgetting(event.data.uid)] : []),

  failed: (_state, { type, data }, { cause, nextAttemptAt }) => {
    if ((type !== 'SaveEtcd' && type !== 'SaveBeforeStep') || nextAttemptAt !== null) return [];
    const { uid, requestId } = data as SaveEtcd;
    return [{ type: 'EtcdSnapshotFailed', data: { uid, requestId, cause } }];
  },
};
