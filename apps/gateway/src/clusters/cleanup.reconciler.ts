import type { ClusterUid } from '@fairlead/contracts';
import { creationAfter, type Creation } from '@fairlead/domain';
import { stateOnly, type Reconciler } from '@fairlead/event-sourcing';

/** Data of the task: the creation of this cluster has failed, and its request asked for a cleanup. */
export interface CleanUp {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
}

/** `creation` undefined: nothing is known of the cluster. */
interface KnownCreation {
  readonly creation?: Creation;
}

const NO_CREATION: KnownCreation = {};

/** A creation that fails is cleaned up where its request asked for that; a pause holds it. */
export const cleanupReconciler: Reconciler<KnownCreation> = {
  name: 'cleanup',
  version: 2,
  context: 'request',
  decider: stateOnly(NO_CREATION, (known, event) => {
    const creation = creationAfter(known.creation, event);
    if (creation === known.creation) return known;
    return creation === undefined ? NO_CREATION : { creation };
  }),
  generation: ({ creation }) => creation?.uid ?? '',
  tasks: ({ creation }) => {
    if (creation === undefined || creation.cleanup === null) return [];
    const data: CleanUp = { uid: creation.uid };
    return [{ type: 'CleanUpCluster', key: 'CleanUpCluster', reason: creation.cleanup.reason, data }];
  },
};
