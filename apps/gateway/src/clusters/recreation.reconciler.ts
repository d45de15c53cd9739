import { type EventData } from '@fairlead/contracts';
import { stateOnly, type Reconciler } from '@fairlead/event-sourcing';

/** Data of the task: the cluster that is requested, and who requested it. */
export type Recreation = EventData<'ClusterRecreationRequested'>['successor'] & { readonly actor: string };

/** `next` undefined: the name is not requested again. */
interface KnownRecreation {
  readonly next?: Recreation;
  /** Its predecessor is gone. */
  readonly isFree?: true;
}

const NO_RECREATION: KnownRecreation = {};

/** Requests the successor of a cluster as soon as the cluster is gone. */
export const recreationReconciler: Reconciler<KnownRecreation> = {
  name: 'recreation',
  version: 2,
  context: 'request',
  decider: stateOnly(NO_RECREATION, (known, event) => {
    switch (event.type) {
      case 'ClusterRecreationRequested':
        return { next: { ...event.data.successor, actor: event.meta.actor } };
      case 'ClusterDeleted':
        return known.next === undefined ? known : { ...known, isFree: true };
      case 'ClusterRecreationCancelled':
      case 'ClusterRequested':
        return NO_RECREATION;
      default:
        return known;
    }
  }),
  generation: ({ next }) => next?.uid ?? '',
  tasks: ({ next, isFree = false }) =>
    next === undefined || !isFree
      ? []
      : [{ type: 'RecreateCluster', key: 'RecreateCluster', reason: 'its predecessor is gone', data: next }],
};
