import { type EventData } from '@fairlead/contracts';
import { job, type Process } from '@fairlead/event-sourcing';

/** Data of the job: the cluster that is requested, and who requested it. */
export type Recreation = EventData<'ClusterRecreationRequested'>['successor'] & { readonly actor: string };

/** `next` undefined: the name is not requested again. */
interface Known {
  readonly next?: Recreation;
}

/** Requests the successor of a cluster as soon as the cluster is gone. */
export const recreationProcess: Process<Known> = {
  name: 'recreation',
  version: 1,
  initial: {},
  evolve: (known, event) => {
    switch (event.type) {
      case 'ClusterRecreationRequested':
        return { next: { ...event.data.successor, actor: event.meta.actor } };
      case 'ClusterRecreationCancelled':
      case 'ClusterRequested':
        return undefined;
      default:
        return known;
    }
  },
  react: ({ next }, event) =>
    next === undefined || event.type !== 'ClusterDeleted' ? [] : [job('RecreateCluster', next)],
};
