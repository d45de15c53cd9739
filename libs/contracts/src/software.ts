import type { KubernetesVersion } from './cluster-spec.js';
import type { SoftwareVersions } from './events/node.events.js';

/** One Kubernetes version that can be built. Data, not code: adding a version is adding a row. */
export interface KubernetesRelease {
  readonly version: string;
  readonly kubeadmApi: 'kubeadm.k8s.io/v1beta3' | 'kubeadm.k8s.io/v1beta4';
  readonly containerd: string;
}

/** v1beta4 came with kubeadm 1.31 (kubernetes.io, kubeadm configuration v1beta4). */
export const KUBERNETES_RELEASES: readonly KubernetesRelease[] = [
  { version: 'v1.30.14', kubeadmApi: 'kubeadm.k8s.io/v1beta3', containerd: '1.7.24' },
  { version: 'v1.33.13', kubeadmApi: 'kubeadm.k8s.io/v1beta4', containerd: '1.7.24' },
  { version: 'v1.34.4', kubeadmApi: 'kubeadm.k8s.io/v1beta4', containerd: '1.7.24' },
  { version: 'v1.35.4', kubeadmApi: 'kubeadm.k8s.io/v1beta4', containerd: '1.7.24' },
  { version: 'v1.36.3', kubeadmApi: 'kubeadm.k8s.io/v1beta4', containerd: '1.7.24' },
];

/** The newest release that the real-host tests build. */
export const DEFAULT_KUBERNETES_VERSION = 'v1.34.4' as KubernetesVersion;

export const releaseOf = (version: string): KubernetesRelease | undefined =>
  KUBERNETES_RELEASES.find((release) => release.version === version);

/** The versions of every package that a node of this Kubernetes version shall have. */
export const softwareOf = (release: KubernetesRelease): SoftwareVersions => {
  const kubernetes = release.version.slice(1);
  return { containerd: release.containerd, kubelet: kubernetes, kubeadm: kubernetes, kubectl: kubernetes };
};
