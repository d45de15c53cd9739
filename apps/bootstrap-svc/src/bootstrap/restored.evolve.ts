import { NFS_STORAGE_ADDON, type EventData, type NodeName, type StoredEvent } from '@fairlead/contracts';
import type { Cluster } from './bootstrap.state.js';

/** From here on the API serves the snapshot: objects are outdated, and later declarations are missing. */
export const servesSnapshot = ({ data }: StoredEvent<'EtcdRestoreAdvanced'>): boolean => data.step === 'verify';

/** The storage class may have been installed after the snapshot was taken. */
const restored = (cluster: Cluster, reapply: string): Cluster => {
  const { [NFS_STORAGE_ADDON]: _unknown, ...addons } = cluster.addons;
  return { ...cluster, addons, reapply };
};

/** Cordons that operators requested here; those of kubectl are unknown. */
const withCordon = (cluster: Cluster, node: NodeName, requestId: string | undefined): Cluster => {
  const { cordonedFor: _before, ...host } = cluster.hosts[node] ?? {};
  if (!('machine' in host)) return cluster;
  const changed = requestId === undefined ? host : { ...host, cordonedFor: requestId };
  return { ...cluster, hosts: { ...cluster.hosts, [node]: changed } };
};

const withoutCordon = (cluster: Cluster, { node, cordonedBy }: EventData<'NodeActionUncordoned'>): Cluster =>
  cluster.hosts[node]?.cordonedFor === cordonedBy ? withCordon(cluster, node, undefined) : cluster;

/** Its kubelet gives it what it had when it joined: neither a cordon nor the label of the cluster. */
const registeringAgain = (cluster: Cluster, nodes: readonly NodeName[]): Cluster => {
  const hosts = nodes.flatMap((node) => {
    const host = cluster.hosts[node];
    return host === undefined ? [] : [[node, { ...host, registersAgain: true as const }] as const];
  });
  return hosts.length === 0 ? cluster : { ...cluster, hosts: { ...cluster.hosts, ...Object.fromEntries(hosts) } };
};

const isRegistered = (cluster: Cluster, node: NodeName): Cluster => {
  const { registersAgain, ...host } = cluster.hosts[node] ?? {};
  return registersAgain === undefined || !('machine' in host)
    ? cluster
    : { ...cluster, hosts: { ...cluster.hosts, [node]: host } };
};

/** What has to be applied again after etcd was restored; roles, labels and taints are in files of their own. */
export const evolveRestored = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'EtcdRestoreAdvanced':
      return servesSnapshot(event) ? restored(cluster, event.data.requestId) : cluster;
    case 'DeclaredStateReapplied': {
      const { reapply, ...others } = cluster;
      const { requestId, missing = [] } = event.data;
      return reapply === requestId ? registeringAgain(others, missing) : cluster;
    }
    case 'NodeReturned':
      return registeringAgain(cluster, [event.data.node]);
    case 'NodeLabelsSet':
      return isRegistered(cluster, event.data.node);
    case 'NodeActionCordoned': {
      const { node, requestId, byRequest } = event.data;
      return byRequest ? withCordon(cluster, node, requestId) : cluster;
    }
    case 'NodeActionUncordoned':
      return withoutCordon(cluster, event.data);
    default:
      return cluster;
  }
};
