import { NFS_STORAGE_ADDON, type StoredEvent } from '@fairlead/contracts';
import type { Cluster } from './bootstrap.state.js';

/** From here on the API serves what the snapshot had: objects are of another time, and what was declared since is not among them. */
export const servesSnapshot = ({ data }: StoredEvent<'EtcdRestoreAdvanced'>): boolean => data.step === 'verify';

/** The storage class may have been installed after the snapshot was taken. */
const restored = (cluster: Cluster, reapply: string): Cluster => {
  const { [NFS_STORAGE_ADDON]: _unknown, ...addons } = cluster.addons;
  return { ...cluster, addons, reapply };
};

/** What has to be applied again after etcd was restored; roles, labels and taints are in files of their own. */
export const evolveRestored = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'EtcdRestoreAdvanced':
      return servesSnapshot(event) ? restored(cluster, event.data.requestId) : cluster;
    case 'DeclaredStateReapplied': {
      const { reapply, ...others } = cluster;
      return reapply === event.data.requestId ? others : cluster;
    }
    default:
      return cluster;
  }
};
