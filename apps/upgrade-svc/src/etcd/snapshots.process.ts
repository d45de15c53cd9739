import type { ClusterUid } from '@fairlead/contracts';
import { job, type Process } from '@fairlead/event-sourcing';

/** Data of the job: somebody asked for a snapshot. */
export interface SaveEtcd {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
}

/** Data of the job: nobody needs the cluster's snapshots any more. */
export interface ForgetSnapshots {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
}

/** Snapshots that are asked for are taken; those of a deleted cluster are destroyed. */
export const snapshotsProcess: Process<Record<string, never>> = {
  name: 'etcd-snapshots',
  version: 1,
  initial: {},
  evolve: (state) => state,
  react: (_, event) => {
    switch (event.type) {
      case 'EtcdSnapshotRequested':
        return [job('SaveEtcd', { uid: event.data.uid, requestId: event.data.requestId } satisfies SaveEtcd)];
      case 'ClusterDeleted':
        return [job('ForgetSnapshots', { uid: event.data.uid } satisfies ForgetSnapshots)];
      default:
        return [];
    }
  },
};
