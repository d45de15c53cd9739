import type { StoredEvent } from '@fairlead/contracts';

/** No service acts on the cluster. */
export interface ClusterPause {
  readonly reason: string;
  /** RFC 3339. */
  readonly since: string;
}

/** Whether a cluster is paused after an event about it; null: it is not. */
export const pauseAfter = (pause: ClusterPause | null, event: StoredEvent): ClusterPause | null => {
  switch (event.type) {
    case 'ClusterPaused':
      return { reason: event.data.reason, since: event.meta.time };
    case 'ClusterResumed':
    case 'ClusterRequested':
    case 'ClusterDeleted':
      return null;
    default:
      return pause;
  }
};
