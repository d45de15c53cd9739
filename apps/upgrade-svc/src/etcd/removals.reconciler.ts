import type { ClusterUid } from '@fairlead/contracts';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import {
  controlPlaneRemovals,
  type Blocked,
  type Leaving,
  type RemovalCommand,
  type RemovalFact,
  type Removals,
} from './removals.decider.js';

/** Data of the task: prepare etcd for the removal of this control plane. */
export interface PrepareRemoval extends Leaving {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  /** A recent snapshot; absent: one is taken. */
  readonly snapshot?: string;
}

/** Data of the task: check the blocked removal of this control plane until it changes. */
export interface WatchRemoval extends Blocked {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
}

const preparing = (uid: ClusterUid, leaving: NonNullable<Removals['leaving']>): Task => {
  const { node, attempt } = leaving;
  const data: PrepareRemoval = { uid, ...leaving };
  return { type: 'PrepareRemoval', key: `PrepareRemoval/${node}/${attempt}`, reason: 'the control plane leaves', data };
};

const watching = (uid: ClusterUid, blocked: Blocked): Task => {
  const data: WatchRemoval = { ...blocked, uid };
  const key = `WatchRemoval/${blocked.node}/${blocked.attempt}`;
  return { type: 'WatchRemoval', key, reason: 'the control plane cannot leave yet', data };
};

/**
 * Before a control plane is removed, the quorum is checked, etcd is saved unless there is a recent snapshot, and its
 * leader is moved.
 */
export const removalsReconciler: Reconciler<Removals, RemovalCommand, RemovalFact> = {
  name: 'control-plane-removals',
  version: 4,
  context: 'rollout',
  decider: controlPlaneRemovals,
  generation: ({ uid }) => uid ?? '',

  tasks: ({ uid, leaving, blocked }) => {
    if (uid === null) return [];
    const waiting = Object.values(blocked).map((one) => watching(uid, one));
    return leaving === null ? waiting : [preparing(uid, leaving), ...waiting];
  },

  failed: (_state, { type, data }, { cause, nextAttemptAt }) => {
    if (nextAttemptAt !== null) return [];
    const { uid, node, attempt } = data as PrepareRemoval;
    // The reason is unknown: the removal starts again, and is blocked again with the cause if necessary.
    if (type === 'WatchRemoval') return [{ type: 'ControlPlaneRemovalUnblocked', data: { uid, node, attempt } }];
    return [{ type: 'ControlPlaneRemovalBlocked', data: { uid, node, attempt, quorum: null, cause } }];
  },
};
