import type { QuarantinedClusterView } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';

export interface QuarantinedClusterDoc {
  readonly service: string;
  readonly consumer: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly eventSeq: number;
  readonly eventId: string;
  readonly error: string;
  readonly quarantinedAt: string;
}

export interface QuarantinePlace {
  readonly service: string;
  readonly consumer: string;
  readonly namespace: string;
  readonly cluster: string;
}

export const quarantineKey = ({ service, consumer, namespace, cluster }: QuarantinePlace): string =>
  `${service}/${consumer}/${namespace}/${cluster}`;

/** What waits for an operator, at any service. */
export const quarantineProjection: Projection<QuarantinedClusterDoc> = {
  name: 'quarantined-clusters',
  table: 'quarantined_clusters',

  keys: (event) => {
    if (event.type !== 'ClusterQuarantined' && event.type !== 'ClusterQuarantineReleased') return [];
    const { namespace, cluster } = event.meta;
    return [quarantineKey({ ...event.data, namespace, cluster })];
  },

  evolve: (doc, event) => {
    if (event.type === 'ClusterQuarantineReleased') return undefined;
    if (event.type !== 'ClusterQuarantined') return doc;
    const { namespace, cluster, time } = event.meta;
    return { ...event.data, namespace, cluster, quarantinedAt: time };
  },
};

export const quarantinedClusterView = ({
  eventSeq,
  quarantinedAt,
  ...doc
}: QuarantinedClusterDoc): QuarantinedClusterView => ({
  ...doc,
  seq: eventSeq,
  quarantinedTime: quarantinedAt,
});
