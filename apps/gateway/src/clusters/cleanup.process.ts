import { creationAfter, type ClusterUid, type Creation, type StoredEvent } from '@fairlead/contracts';
import { job, type Process } from '@fairlead/event-sourcing';

/** Data of the job: the creation of this cluster has failed, and its request asked for a cleanup. */
export interface CleanUp {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
}

/** `creation` undefined: nothing is known of the cluster. */
interface Known {
  readonly creation?: Creation;
}

/** After these a cleanup is due that was not, or could not begin. */
const OCCASIONS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ClusterFailed',
  'ClusterRejected',
  'ClusterResumed',
]);

/** A creation that fails is cleaned up where its request asked for that; what is still true of it is decided when the job begins. */
export const cleanupProcess: Process<Known> = {
  name: 'cleanup',
  version: 1,
  initial: {},
  evolve: (known, event) => {
    const creation = creationAfter(known.creation, event);
    if (creation === known.creation) return known;
    return creation === undefined ? undefined : { creation };
  },
  react: ({ creation }, event) =>
    creation === undefined || creation.cleanup === null || !OCCASIONS.has(event.type)
      ? []
      : [job('CleanUpCluster', { uid: creation.uid } satisfies CleanUp)],
};
