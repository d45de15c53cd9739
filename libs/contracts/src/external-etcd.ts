/** How many control planes a cluster with an external etcd may have (CB-Ladybug). */
export const EXTERNAL_ETCD_COUNTS: readonly number[] = [3, 5, 7];

/** The etcd that runs beside kubeadm, as a unit of the hosts. Files and a unit of our own, which no kubeadm reset touches. */
export const EXTERNAL_ETCD = {
  unit: 'fairlead-etcd.service',
  programs: '/opt/fairlead/etcd',
  /** What members prove themselves with, to each other and to those who ask them. */
  pki: '/etc/fairlead/etcd',
  /** The client certificate of the API server: in a separate folder, because kubeadm mounts the whole folder into the API server. */
  client: '/etc/fairlead/etcd-client',
  /** The static pod in which its tools are reached over the Kubernetes API. */
  pod: '/etc/kubernetes/manifests/fairlead-etcdctl.yaml',
  /** The label `component` of that pod, and the name of its container. */
  component: 'etcdctl',
  /** The same as that of kubeadm's etcd: it is often a separate disk. */
  data: '/var/lib/etcd',
} as const;

/** The checks that kubeadm sets for its own etcd of that version; in 3.6 experimental flags have become gates and plain flags. */
export const etcdCheckFlags = (version: string): readonly string[] =>
  version.startsWith('3.5.')
    ? ['--experimental-initial-corrupt-check=true', '--experimental-watch-progress-notify-interval=5s']
    : ['--feature-gates=InitialCorruptCheck=true', '--watch-progress-notify-interval=5s'];
