import {
  KUBEADM_ADDONS,
  NETWORK_RELEASES,
  PRELOADED_NETWORK_RELEASES,
  type Cni,
  type NetworkRelease,
} from '@fairlead/contracts';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import type { NetworkSettings, NfsExport } from './addon.settings.js';
import { calico, canal } from './calico.manifests.js';
import { cilium } from './cilium.manifests.js';
import { flannel, flannelPreloaded } from './flannel.manifests.js';
import { kilo } from './kilo.manifests.js';
import { nfsStorage } from './nfs-storage.manifests.js';

/** A component that can be installed into a cluster. To add one, add a row. */
export interface CatalogueEntry<Settings> extends NetworkRelease {
  readonly manifests: (settings: Settings) => readonly Manifest[];
}

type Maker = (version: string) => CatalogueEntry<NetworkSettings>['manifests'];

const made = (release: NetworkRelease, maker: Maker): CatalogueEntry<NetworkSettings> => ({
  ...release,
  manifests: maker(release.version),
});

/**
 * The networks of CB-Ladybug's API, and Cilium: the upstream manifests (upstream/) with a list of patches each. Kilo
 * and the NFS provisioner are maintained here; upstream/README.md explains why.
 */
export const NETWORKS: Readonly<Record<Cni, CatalogueEntry<NetworkSettings>>> = {
  flannel: made(NETWORK_RELEASES.flannel, flannel),
  calico: made(NETWORK_RELEASES.calico, calico),
  canal: made(NETWORK_RELEASES.canal, canal),
  kilo: made(NETWORK_RELEASES.kilo, kilo),
  cilium: made(NETWORK_RELEASES.cilium, cilium),
};

/**
 * Networks for hosts that do not pull images and have those of a mirror. The tag of the image contains flannel's own
 * version.
 */
export const PRELOADED_NETWORKS: Readonly<Partial<Record<Cni, CatalogueEntry<NetworkSettings>>>> = {
  flannel: made(PRELOADED_NETWORK_RELEASES.flannel, flannelPreloaded),
};

/** Storage on an existing NFS server; installed if both its server and its path are given. */
export const NFS_STORAGE: CatalogueEntry<NfsExport> = {
  version: 'v4.0.2',
  verifiedOn: 'lab',
  manifests: nfsStorage('v4.0.2'),
};

/** Addons installed by kubeadm. A cluster is not ready without them; they are recorded with their version. */
export const KUBEADM_WORKLOADS = Object.entries(KUBEADM_ADDONS).flatMap(([addon, workloads]) =>
  workloads.map((workload) => ({ addon, ...workload })),
);
