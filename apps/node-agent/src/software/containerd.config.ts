import {
  compareVersions,
  IMAGE_REPOSITORY,
  KUBERNETES_RELEASES,
  parseVersion,
  releaseOf,
  type KubernetesRelease,
} from '@fairlead/contracts';

const newestUpTo = (kubernetesVersion: string): KubernetesRelease | undefined =>
  KUBERNETES_RELEASES.filter(({ version }) => compareVersions(version.slice(1), kubernetesVersion) <= 0)
    .toSorted((one, other) => compareVersions(one.version.slice(1), other.version.slice(1)))
    .at(-1);

/** The pause image that this version's kubeadm lists; a version that is no row is taken for the nearest older one. */
export const pauseImageOf = (
  kubernetesVersion: string,
  repository: string = IMAGE_REPOSITORY,
  releases?: readonly KubernetesRelease[],
): string => {
  const exact = parseVersion(kubernetesVersion);
  // Each look at the host asks this, so the release itself is looked for before all are compared.
  const release =
    (exact && releaseOf(`v${exact.major}.${exact.minor}.${exact.patch}`, releases)) ??
    newestUpTo(kubernetesVersion) ??
    KUBERNETES_RELEASES[0];
  return `${repository}/pause:${release?.pause ?? '3.9'}`;
};

export interface RuntimeSettings {
  readonly pauseImage: string;
  /** The kubelet must have the same. */
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  /** Where the host may not lower any OOM score, containers must not ask for it. */
  readonly restrictOomScore: boolean;
}

/** Mirrors and credentials of registries; people put files there, and the runtime reads them at each pull. */
const REGISTRIES = '/etc/containerd/certs.d';

const version2 = ({ pauseImage, cgroupDriver, restrictOomScore }: RuntimeSettings): string => `# Written by Fairlead.
version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = ${restrictOomScore}

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/opt/cni/bin"
  conf_dir = "/etc/cni/net.d"

[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "${REGISTRIES}"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = ${cgroupDriver === 'systemd'}
`;

/** containerd 2 finds plugins in /opt/cni/bin by itself; the key that says so has another name in each of its minors. */
const version3 = ({ pauseImage, cgroupDriver, restrictOomScore }: RuntimeSettings): string => `# Written by Fairlead.
version = 3

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '${pauseImage}'

[plugins.'io.containerd.cri.v1.images'.registry]
  config_path = '${REGISTRIES}'

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = ${restrictOomScore}

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = ${cgroupDriver === 'systemd'}
`;

/** containerd's configuration in the format that this version of it writes itself. */
export const containerdConfig = (containerd: string, settings: RuntimeSettings): string =>
  compareVersions(containerd, '2.0.0') < 0 ? version2(settings) : version3(settings);
