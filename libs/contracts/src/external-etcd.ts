/** Permitted numbers of control planes for a cluster with an external etcd (CB-Ladybug). */
export const EXTERNAL_ETCD_COUNTS: readonly number[] = [3, 5, 7];

/**
 * The etcd that runs as a systemd unit of the hosts, outside kubeadm. Its files and unit are not touched by kubeadm
 * reset.
 */
export const EXTERNAL_ETCD = {
  unit: 'fairlead-etcd.service',
  programs: '/opt/fairlead/etcd',
  /** Certificates with which members authenticate to each other and to clients. */
  pki: '/etc/fairlead/etcd',
  /**
   * The API server's client certificate. In a separate folder, because kubeadm mounts the whole folder into the API
   * server.
   */
  client: '/etc/fairlead/etcd-client',
  /** The static pod through which etcd's tools are reached over the Kubernetes API. */
  pod: '/etc/kubernetes/manifests/fairlead-etcdctl.yaml',
  /** The label `component` of that pod, and the name of its container. */
  component: 'etcdctl',
  /** The same path as kubeadm's etcd: it is often a separate disk. */
  data: '/var/lib/etcd',
} as const;

/**
 * The check flags that kubeadm sets for its own etcd of that version; 3.6 turned experimental flags into gates and
 * plain flags.
 */
export const etcdCheckFlags = (version: string): readonly string[] =>
  version.startsWith('3.5.')
    ? ['--experimental-initial-corrupt-check=true', '--experimental-watch-progress-notify-interval=5s']
    : ['--feature-gates=InitialCorruptCheck=true', '--watch-progress-notify-interval=5s'];
