import type { KeyPair } from '../certificates/certificate.authority.js';
import type { ComponentFlags } from '../controlplane/static.pods.planner.js';
import type { KubeObject } from '../objects/kube.object.js';
import type { Written } from '../store/object.store.js';
import type { KubeletsState } from '../nodes/kubelets.js';
import type { EtcdSnapshot } from '../etcd/simulated.etcd.js';

/**
 * Everything that must survive a restart of the lab, as JSON. Its only secrets are the private keys of the simulation.
 */
export interface ClusterSnapshot extends EtcdSnapshot {
  readonly format: 1;
  readonly name: string;
  readonly version: string;
  readonly podCidr: string;
  /** Absent: the default of Kubernetes. */
  readonly nodeCidrMask?: number | undefined;
  readonly serviceCidr: string;
  readonly ca: KeyPair;
  readonly resourceVersion: number;
  readonly objects: readonly KubeObject[];
  /** Whether etcd is external; absent: it runs as static pods. */
  readonly externalEtcd?: boolean;
  readonly kubelets: KubeletsState;
  /** The version of each control plane's static pods. */
  readonly controlPlanes: Readonly<Record<string, string>>;
  /** Flags of their components in addition to those of kubeadm; absent: none. */
  readonly controlPlaneFlags?: Readonly<Record<string, ComponentFlags>>;
}

/** A cluster as it is stored: a snapshot without its objects, and the writes since a version. */
export interface ClusterChanges {
  readonly snapshot: ClusterSnapshot;
  readonly entries: readonly Written[];
  /** Whether the entries are all objects. */
  readonly isWhole: boolean;
}

/**
 * The snapshot with its objects. Earlier releases stored the objects in the snapshot; a journal begins with all of
 * them.
 */
export const snapshotFrom = (snapshot: ClusterSnapshot, entries: readonly Written[]): ClusterSnapshot => {
  if (entries.length === 0) return snapshot;
  const objects = new Map<string, KubeObject>();
  for (const { key, object } of entries)
    if (object === null) objects.delete(key);
    else objects.set(key, object);
  const resourceVersion = entries.reduce((latest, { version }) => Math.max(latest, version), snapshot.resourceVersion);
  return { ...snapshot, resourceVersion, objects: [...objects.values()] };
};
