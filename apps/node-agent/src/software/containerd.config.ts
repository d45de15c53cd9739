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

/** The pause image of this version's kubeadm; an unknown version uses that of the nearest older one. */
export const pauseImageOf = (
  kubernetesVersion: string,
  repository: string = IMAGE_REPOSITORY,
  releases?: readonly KubernetesRelease[],
): string => {
  const exact = parseVersion(kubernetesVersion);
  // Called at each inspection of the host, so the exact release is looked up before all are compared.
  const release =
    (exact && releaseOf(`v${exact.major}.${exact.minor}.${exact.patch}`, releases)) ??
    newestUpTo(kubernetesVersion) ??
    KUBERNETES_RELEASES[0];
  return `${repository}/pause:${release?.pause ?? '3.9'}`;
};

export interface RuntimeSettings {
  readonly pauseImage: string;
  /** Must be the same as the kubelet's. */
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  /** Containers must not lower OOM scores if the host is not permitted to. */
  readonly restrictOomScore: boolean;
}

/** Mirrors and credentials of registries, which operators put there; the runtime reads them at each pull. */
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

/**
 * containerd 2 finds plugins in /opt/cni/bin by default; the key for that has a different name in each minor version.
 */
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

/** containerd's configuration in the native format of its version. */
export const containerdConfig = (containerd: string, settings: RuntimeSettings): string =>
  compareVersions(containerd, '2.0.0') < 0 ? version2(settings) : version3(settings);
