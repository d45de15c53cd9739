import type { ClusterUid, HostId, RegisteredHostView, StoredEvent } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import { clusterUnknown } from '../http/command.answers.js';
import { RefusalError } from '../http/refusal.error.js';
import { ManifestQueries } from '../manifest/manifest.queries.js';
import type { KnownCluster } from './joins.commands.js';

type Hosts = ReadonlyMap<HostId, RegisteredHostView>;

const without = (hosts: Hosts, hostId: HostId): Hosts => {
  const others = new Map(hosts);
  return others.delete(hostId) ? others : hosts;
};

const after = (hosts: Hosts, { type, data, meta }: StoredEvent): Hosts => {
  switch (type) {
    case 'HostRegistered': {
      const { hostId: name, labels, facts } = data;
      return new Map(hosts).set(name, { name, labels, facts, registeredTime: meta.time });
    }
    case 'HostAdmitted':
    case 'HostUnregistered':
      return without(hosts, data.hostId);
    default:
      return hosts;
  }
};

const isOf =
  (uid: ClusterUid) =>
  ({ data }: StoredEvent): boolean =>
    'uid' in data && data.uid === uid;

export const registeredHosts = (events: readonly StoredEvent[], uid: ClusterUid): RegisteredHostView[] =>
  [...events.filter(isOf(uid)).reduce<Hosts>(after, new Map()).values()].sort((one, other) =>
    one.name < other.name ? -1 : 1,
  );

/** Hosts that wait until a pool claims them, from the log: there are few. */
@Injectable()
export class RegisteredHosts {
  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(ManifestQueries) private readonly manifests: ManifestQueries,
  ) {}

  async cluster({ namespace, cluster }: ClusterAddress): Promise<KnownCluster> {
    const manifest = await this.manifests.one({ namespace, cluster });
    if (manifest === undefined) throw new RefusalError(clusterUnknown({ namespace, cluster }));
    return { namespace, cluster, uid: manifest.metadata.uid as KnownCluster['uid'] };
  }

  async of({ namespace, cluster, uid }: KnownCluster): Promise<RegisteredHostView[]> {
    const stored = await this.store.read(`evt.*.${namespace}.${cluster}.joins.*`, 0);
    return registeredHosts(
      stored.map(({ event }) => event),
      uid,
    );
  }
}
