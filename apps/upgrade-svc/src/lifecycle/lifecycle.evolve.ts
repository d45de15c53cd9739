import type { StoredEvent } from '@fairlead/contracts';

/** The lifecycle of a cluster, and whether an operation restarts its nodes. */
export interface Lifecycle {
  /** building: it has not been Ready since it was requested. */
  readonly life: 'building' | 'ready' | 'failed' | 'deleting';
  /** Whether an upgrade is in progress. */
  readonly upgrading: boolean;
  /** Whether an etcd restore is in progress. */
  readonly restoring: boolean;
}

export const BUILDING: Lifecycle = { life: 'building', upgrading: false, restoring: false };

/** Applies an event of a cluster's lifecycle; undefined: it is another event. */
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
