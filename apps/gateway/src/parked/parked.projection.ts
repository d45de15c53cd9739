import type { ParkedView } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';

export interface ParkedDoc {
  readonly service: string;
  readonly consumer: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly eventSeq: number;
  readonly eventId: string;
  readonly error: string;
  readonly parkedAt: string;
}

export interface ParkedPlace {
  readonly service: string;
  readonly consumer: string;
  readonly namespace: string;
  readonly cluster: string;
}

export const parkedKey = ({ service, consumer, namespace, cluster }: ParkedPlace): string =>
  `${service}/${consumer}/${namespace}/${cluster}`;

/** What waits for an operator, at any service. */
export const parkedProjection: Projection<ParkedDoc> = {
  name: 'parked-clusters',
  table: 'parked_clusters',

  keys: (event) => {
    if (event.type !== 'ClusterParked' && event.type !== 'ParkedClusterReleased') return [];
    const { namespace, cluster } = event.meta;
    return [parkedKey({ ...event.data, namespace, cluster })];
  },

  evolve: (doc, event) => {
    if (event.type === 'ParkedClusterReleased') return undefined;
    if (event.type !== 'ClusterParked') return doc;
    const { namespace, cluster, time } = event.meta;
    return { ...event.data, namespace, cluster, parkedAt: time };
  },
};

export const parkedView = ({ eventSeq, parkedAt, ...doc }: ParkedDoc): ParkedView => ({
  ...doc,
  seq: eventSeq,
  parkedTime: parkedAt,
});
