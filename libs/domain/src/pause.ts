import type { StoredEvent } from '@fairlead/contracts';

/** While set, no service acts on the cluster. */
export interface ClusterPause {
  readonly reason: string;
  /** RFC 3339. */
  readonly since: string;
}

/** The pause of a cluster after an event; null: not paused. */
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
