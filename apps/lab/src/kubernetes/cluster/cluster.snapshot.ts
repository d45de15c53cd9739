import type { KeyPair } from '../certificates/certificate.authority.js';
import type { ComponentFlags } from '../controlplane/static.pods.planner.js';
import type { KubeObject } from '../objects/kube.object.js';
import type { Written } from '../store/object.store.js';
import type { KubeletsState } from '../nodes/kubelets.js';
import type { EtcdSnapshot } from '../etcd/simulated.etcd.js';

/** Everything that must survive a restart of the lab, as JSON. It has the private keys of a simulation, and nothing else that is secret. */
export interface ClusterSnapshot extends EtcdSnapshot {
  readonly format: 1;
  readonly name: string;
  readonly version: string;
  readonly podCidr: string;
  /** Absent: Kubernetes' default. */
  readonly nodeCidrMask?: number | undefined;
  readonly serviceCidr: string;
  readonly ca: KeyPair;
  readonly resourceVersion: number;
  readonly objects: readonly KubeObject[];
  /** Its etcd runs beside kubeadm; absent: as static pods. */
  readonly externalEtcd?: boolean;
  readonly kubelets: KubeletsState;
  /** The version of each control plane's static pods. */
  readonly controlPlanes: Readonly<Record<string, string>>;
  /** Flags of their components beside kubeadm's own; absent: none has any. */
  readonly controlPlaneFlags?: Readonly<Record<string, ComponentFlags>>;
}

/** A cluster as it is stored: a snapshot without its objects, and the writes to them since a version. */
export interface ClusterChanges {
  readonly snapshot: ClusterSnapshot;
  readonly entries: readonly Written[];
  /** The entries are all objects. */
  readonly isWhole: boolean;
}

/** The snapshot with its objects. Earlier releases stored them in it; a journal begins with all of them. */
export const snapshotFrom = (snapshot: ClusterSnapshot, entries: readonly Written[]): ClusterSnapshot => {
  if (entries.length === 0) return snapshot;
  const objects = new Map<string, KubeObject>();
  for (const { key, object } of entries)
    if (object === null) objects.delete(key);
    else objects.set(key, object);
  const resourceVersion = entries.reduce((latest, { version }) => Math.max(latest, version), snapshot.resourceVersion);
  return { ...snapshot, resourceVersion, objects: [...objects.values()] };
};
