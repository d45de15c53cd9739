import type { KubernetesVersion } from './cluster-spec.js';
import type { SoftwareVersions } from './software.versions.js';
import type { KubernetesRelease, Verification } from './kubernetes.release.js';
import type { NodeRole } from './machines.js';
import { KUBERNETES_DIGESTS } from './software.digests.js';

/**
 * Values of a row that do not follow from its kubeadm. 1.7.24 is Debian 13's containerd, used by the real-host tests.
 */
const COMMON = { containerd: '1.7.24', cniPlugins: 'v1.9.1' } as const;

type Images = Pick<KubernetesRelease, 'etcd' | 'coredns' | 'pause'>;

/** Patch releases of a minor version whose kubeadm has the same constants. */
type Range = readonly [minor: number, first: number, last: number, Images];

/** Tags are the constants of each version's `cmd/kubeadm/app/constants`. */
const RANGES: readonly Range[] = [
  [30, 0, 4, { etcd: '3.5.12-0', coredns: 'v1.11.1', pause: '3.9' }],
  [30, 5, 14, { etcd: '3.5.15-0', coredns: 'v1.11.3', pause: '3.9' }],
  [31, 0, 0, { etcd: '3.5.15-0', coredns: 'v1.11.1', pause: '3.10' }],
  [31, 1, 13, { etcd: '3.5.15-0', coredns: 'v1.11.3', pause: '3.10' }],
  [31, 14, 14, { etcd: '3.5.24-0', coredns: 'v1.11.3', pause: '3.10' }],
  [32, 0, 9, { etcd: '3.5.16-0', coredns: 'v1.11.3', pause: '3.10' }],
  [32, 10, 13, { etcd: '3.5.24-0', coredns: 'v1.11.3', pause: '3.10' }],
  [33, 0, 5, { etcd: '3.5.21-0', coredns: 'v1.12.0', pause: '3.10' }],
  [33, 6, 13, { etcd: '3.5.24-0', coredns: 'v1.12.0', pause: '3.10' }],
  [34, 0, 1, { etcd: '3.6.4-0', coredns: 'v1.12.1', pause: '3.10.1' }],
  [34, 2, 11, { etcd: '3.6.5-0', coredns: 'v1.12.1', pause: '3.10.1' }],
  [35, 0, 8, { etcd: '3.6.6-0', coredns: 'v1.13.1', pause: '3.10.1' }],
  [36, 0, 4, { etcd: '3.6.8-0', coredns: 'v1.14.2', pause: '3.10.2' }],
];

/** Releases that stories have run (docs/real-hosts.md, test/*.e2e.spec.ts); every other row is only listed. */
const VERIFIED: Readonly<Record<string, Verification>> = {
  'v1.30.14': 'lab',
  'v1.31.14': 'lab',
  'v1.32.13': 'lab',
  'v1.33.13': 'real',
  'v1.34.2': 'lab',
  'v1.34.4': 'real',
  'v1.34.9': 'lab',
  'v1.35.4': 'real',
  'v1.36.3': 'lab',
};

/** kubeadm 1.31 introduced v1beta4 (kubernetes.io, kubeadm configuration v1beta4). */
const FIRST_V1BETA4 = 31;

const builtIn = (version: string, minor: number, images: Images): KubernetesRelease => ({
  version,
  kubeadmApi: minor < FIRST_V1BETA4 ? 'kubeadm.k8s.io/v1beta3' : 'kubeadm.k8s.io/v1beta4',
  ...images,
  ...COMMON,
  verified: VERIFIED[version] ?? 'listed',
  sha256: KUBERNETES_DIGESTS.get(version) ?? null,
});

/** The built-in releases, oldest first. An installation can add others (kubernetes.releases.ts). */
export const KUBERNETES_RELEASES: readonly KubernetesRelease[] = RANGES.flatMap(([minor, first, last, images]) =>
  Array.from({ length: last - first + 1 }, (_, index) => builtIn(`v1.${minor}.${first + index}`, minor, images)),
);

/** The newest release that the real-host tests build. */
export const DEFAULT_KUBERNETES_VERSION = 'v1.34.4' as KubernetesVersion;

const BY_VERSION: ReadonlyMap<string, KubernetesRelease> = new Map(
  KUBERNETES_RELEASES.map((release) => [release.version, release]),
);

/** `releases`: those of an installation beside the built-in ones; they take precedence. */
export const releaseOf = (
  version: string,
  releases: readonly KubernetesRelease[] = [],
): KubernetesRelease | undefined => releases.find((release) => release.version === version) ?? BY_VERSION.get(version);

/** The required package versions of a node with this Kubernetes version. */
export const softwareOf = (release: KubernetesRelease): SoftwareVersions => {
  const kubernetes = release.version.slice(1);
  return { containerd: release.containerd, kubelet: kubernetes, kubeadm: kubernetes, kubectl: kubernetes };
};

/** The registry of kubeadm's images, unless `imageRepository` is set. */
export const IMAGE_REPOSITORY = 'registry.k8s.io';

/** A container image of a kubeadm cluster, and the roles of the nodes that run it. */
export interface ReleaseImage {
  readonly name: string;
  /** The reference that `kubeadm config images list` prints and the archive of the mirror is tagged with. */
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
