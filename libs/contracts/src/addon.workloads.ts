import type { Cni } from './cluster-spec.js';

/** A workload that Kubernetes runs for an addon. */
export interface AddonWorkload {
  readonly kind: 'DaemonSet' | 'Deployment';
  readonly namespace: string;
  readonly name: string;
}

const KUBE_SYSTEM = 'kube-system';
const daemonSet = (name: string, namespace = KUBE_SYSTEM): AddonWorkload => ({ kind: 'DaemonSet', namespace, name });
const deployment = (name: string, namespace = KUBE_SYSTEM): AddonWorkload => ({ kind: 'Deployment', namespace, name });

/** Workloads of each CNI, with the names from its published manifests. */
export const NETWORK_WORKLOADS: Readonly<Record<Cni, readonly AddonWorkload[]>> = {
  flannel: [daemonSet('kube-flannel-ds', 'kube-flannel')],
  calico: [daemonSet('calico-node'), deployment('calico-kube-controllers')],
  canal: [daemonSet('canal'), deployment('calico-kube-controllers')],
  cilium: [daemonSet('cilium'), deployment('cilium-operator')],
  kilo: [daemonSet('kilo')],
};

/** kubeadm installs them with the control plane. */
export const KUBEADM_ADDONS = {
  'kube-proxy': [daemonSet('kube-proxy')],
  coredns: [deployment('coredns')],
} as const satisfies Readonly<Record<string, readonly AddonWorkload[]>>;

export const NFS_STORAGE_ADDON = 'nfs-storage';

/** Workloads of every addon that a cluster can have, by addon name. */
export const ADDON_WORKLOADS: Readonly<Record<string, readonly AddonWorkload[]>> = {
  ...NETWORK_WORKLOADS,
  ...KUBEADM_ADDONS,
  [NFS_STORAGE_ADDON]: [deployment('nfs-provisioner', 'nfs-storage')],
};
