import type { StoredEvent } from '@fairlead/contracts';

/** Where a cluster is in its life, and whether something restarts its nodes meanwhile. */
export interface Lifecycle {
  /** building: it has never been Ready since it was requested. */
  readonly life: 'building' | 'ready' | 'failed' | 'deleting';
  /** An upgrade is in progress. */
  readonly upgrading: boolean;
  /** etcd is being restored from a snapshot. */
  readonly restoring: boolean;
}

export const BUILDING: Lifecycle = { life: 'building', upgrading: false, restoring: false };

/** The state after an event of a cluster's life; undefined: the event is another one. */
export const evolveLifecycle = <State extends Lifecycle>(state: State, event: StoredEvent): State | undefined => {
  switch (event.type) {
    case 'ClusterReady':
      return { ...state, life: 'ready' };
    case 'ClusterFailed':
      return { ...state, life: 'failed' };
    case 'ClusterDeletionRequested':
      return { ...state, life: 'deleting' };
    case 'RolloutStarted':
      return { ...state, upgrading: true };
    case 'RolloutCompleted':
    case 'RolloutAborted':
      return { ...state, upgrading: false };
    case 'EtcdRestoreRequested':
      return { ...state, restoring: true };
    case 'EtcdRestored':
    case 'EtcdRestoreFailed':
      return { ...state, restoring: false };
    default:
      return undefined;
  }
};
