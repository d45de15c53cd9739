import type { Cni } from '@fairlead/contracts';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import { calico, canal } from './calico.manifests.js';
import { cilium } from './cilium.manifests.js';
import { flannel } from './flannel.manifests.js';
import { flannelPreloaded } from './flannel-preloaded.manifests.js';
import { kilo } from './kilo.manifests.js';
import { nfsStorage } from './nfs-storage.manifests.js';

export interface NetworkSettings {
  readonly podCidr: string;
  /** True where all nodes share one network segment: packets then need no tunnel. */
  readonly oneSegment: boolean;
  /** True where kube-proxy uses nftables. */
  readonly nftables: boolean;
  /** The API server's balanced address. */
  readonly endpoint: { readonly host: string; readonly port: number };
}

/** Something that can be installed into a cluster. Adding one is adding a row. */
export interface CatalogueEntry<Settings> {
  readonly version: string;
  /** On what it was seen to work: simulated hosts only, or real ones too. */
  readonly verifiedOn: 'lab' | 'real';
  readonly manifests: (settings: Settings) => readonly Manifest[];
}

/** The networks of CB-Ladybug's API, and Cilium. Our own minimal manifests, with the makers' images. */
export const NETWORKS: Readonly<Record<Cni, CatalogueEntry<NetworkSettings>>> = {
  flannel: { version: 'v0.27.4', verifiedOn: 'lab', manifests: flannel('v0.27.4') },
  calico: { version: 'v3.30.3', verifiedOn: 'lab', manifests: calico('v3.30.3') },
  canal: { version: 'v3.30.3', verifiedOn: 'lab', manifests: canal({ calico: 'v3.30.3', flannel: 'v0.27.4' }) },
  kilo: { version: '0.6.0', verifiedOn: 'lab', manifests: kilo('0.6.0') },
  cilium: { version: 'v1.19.8', verifiedOn: 'lab', manifests: cilium('v1.19.8') },
};

/**
 * Networks for hosts that pull no images and have those of a mirror. flannel's own version is in the tag of its image; of the
 * others no mirror has images.
 */
export const PRELOADED_NETWORKS: Readonly<Partial<Record<Cni, CatalogueEntry<NetworkSettings>>>> = {
  flannel: { version: 'v0.28.4', verifiedOn: 'real', manifests: flannelPreloaded },
};

export interface NfsExport {
  readonly server: string;
  readonly path: string;
}

/** Storage on an NFS server that exists; installed when both its server and its path are given. */
export const NFS_STORAGE: CatalogueEntry<NfsExport> = {
  version: 'v4.0.2',
  verifiedOn: 'lab',
  manifests: nfsStorage('v4.0.2'),
};

/** What kubeadm itself installs and a cluster is not ready without: it is looked for, and recorded with its version. */
export const KUBEADM_ADDONS = [
  { addon: 'kube-proxy', kind: 'DaemonSet', namespace: 'kube-system', name: 'kube-proxy' },
  { addon: 'coredns', kind: 'Deployment', namespace: 'kube-system', name: 'coredns' },
] as const;
