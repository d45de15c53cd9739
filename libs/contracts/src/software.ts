import type { KubernetesVersion } from './cluster-spec.js';
import type { SoftwareVersions } from './events/node.events.js';
import type { NodeRole } from './machines.js';

/** One Kubernetes version that can be built. Data, not code: to add a version, add a row. */
export interface KubernetesRelease {
  readonly version: string;
  readonly kubeadmApi: 'kubeadm.k8s.io/v1beta3' | 'kubeadm.k8s.io/v1beta4';
  readonly containerd: string;
  /** Tags of the images that this kubeadm asks for (`kubeadm config images list`). */
  readonly etcd: string;
  readonly coredns: string;
  readonly pause: string;
  readonly cniPlugins: string;
}

/** What a row has that does not follow from its kubeadm. 1.7.24 is Debian 13's containerd, the one that the real-host tests run. */
const COMMON = { containerd: '1.7.24', cniPlugins: 'v1.9.1' } as const;

/**
 * v1beta4 came with kubeadm 1.31 (kubernetes.io, kubeadm configuration v1beta4). Tags are the constants of each version's
 * `cmd/kubeadm/app/constants`.
 */
export const KUBERNETES_RELEASES: readonly KubernetesRelease[] = [
  {
    version: 'v1.30.14',
    kubeadmApi: 'kubeadm.k8s.io/v1beta3',
    etcd: '3.5.15-0',
    coredns: 'v1.11.3',
    pause: '3.9',
    ...COMMON,
  },
  {
    version: 'v1.33.13',
    kubeadmApi: 'kubeadm.k8s.io/v1beta4',
    etcd: '3.5.24-0',
    coredns: 'v1.12.0',
    pause: '3.10',
    ...COMMON,
  },
  {
    version: 'v1.34.4',
    kubeadmApi: 'kubeadm.k8s.io/v1beta4',
    etcd: '3.6.5-0',
    coredns: 'v1.12.1',
    pause: '3.10.1',
    ...COMMON,
  },
  {
    version: 'v1.35.4',
    kubeadmApi: 'kubeadm.k8s.io/v1beta4',
    etcd: '3.6.6-0',
    coredns: 'v1.13.1',
    pause: '3.10.1',
    ...COMMON,
  },
  {
    version: 'v1.36.3',
    kubeadmApi: 'kubeadm.k8s.io/v1beta4',
    etcd: '3.6.8-0',
    coredns: 'v1.14.2',
    pause: '3.10.2',
    ...COMMON,
  },
];

/** The newest release that the real-host tests build. */
export const DEFAULT_KUBERNETES_VERSION = 'v1.34.4' as KubernetesVersion;

export const releaseOf = (version: string): KubernetesRelease | undefined =>
  KUBERNETES_RELEASES.find((release) => release.version === version);

/** The versions of every package that a node of this Kubernetes version must have. */
export const softwareOf = (release: KubernetesRelease): SoftwareVersions => {
  const kubernetes = release.version.slice(1);
  return { containerd: release.containerd, kubelet: kubernetes, kubeadm: kubernetes, kubectl: kubernetes };
};

/** Where kubeadm's images come from, unless `imageRepository` is set. */
export const IMAGE_REPOSITORY = 'registry.k8s.io';

/** A container image that kubeadm's cluster runs, and on which nodes. */
export interface ReleaseImage {
  readonly name: string;
  /** As `kubeadm config images list` writes it, and as the archive of the mirror tags it. */
  readonly reference: string;
  readonly roles: readonly NodeRole[];
}

const EVERY_NODE: readonly NodeRole[] = ['control-plane', 'worker'];
const CONTROL_PLANE: readonly NodeRole[] = ['control-plane'];

/** The images of a release. CoreDNS may be scheduled anywhere, so every node gets it. */
export const imagesOf = (release: KubernetesRelease, repository = IMAGE_REPOSITORY): readonly ReleaseImage[] => {
  const image = (name: string, path: string, roles: readonly NodeRole[]): ReleaseImage => ({
    name,
    reference: `${repository}/${path}`,
    roles,
  });
  // In a custom repository kubeadm expects CoreDNS beside the other images (kubeadm, GetDNSImage).
  const dns = repository === IMAGE_REPOSITORY ? 'coredns/coredns' : 'coredns';
  return [
    image('kube-apiserver', `kube-apiserver:${release.version}`, CONTROL_PLANE),
    image('kube-controller-manager', `kube-controller-manager:${release.version}`, CONTROL_PLANE),
    image('kube-scheduler', `kube-scheduler:${release.version}`, CONTROL_PLANE),
    image('etcd', `etcd:${release.etcd}`, CONTROL_PLANE),
    image('kube-proxy', `kube-proxy:${release.version}`, EVERY_NODE),
    image('coredns', `${dns}:${release.coredns}`, EVERY_NODE),
    image('pause', `pause:${release.pause}`, EVERY_NODE),
  ];
};
