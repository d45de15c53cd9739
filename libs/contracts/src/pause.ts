import { z } from 'zod';
import type { StoredEvent } from './envelope.js';

export const PAUSE_REASON_LENGTH_MAX = 500;
/** Why someone pauses or resumes a cluster; empty: none was given. */
export const PauseReason = z.string().max(PAUSE_REASON_LENGTH_MAX);

/** Body of the requests that pause and resume a cluster. */
export const PauseRequest = z
  .strictObject({ reason: PauseReason.default('').describe('Why; it stands in the history') })
  .meta({ id: 'PauseRequest', examples: [{ reason: 'the provider is under maintenance' }] });
export type PauseRequest = z.infer<typeof PauseRequest>;

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
