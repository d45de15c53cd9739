/** The etcd that runs beside kubeadm, as a unit of the hosts. Files and a unit of our own, which no kubeadm reset touches. */
export const EXTERNAL_ETCD = {
  unit: 'fairlead-etcd.service',
  programs: '/opt/fairlead/etcd',
  /** What members prove themselves with, to each other and to those who ask them. */
  pki: '/etc/fairlead/etcd',
  /** The client certificate of the API server: in a separate folder, because kubeadm mounts the whole folder into the API server. */
  client: '/etc/fairlead/etcd-client',
  /** The same as that of kubeadm's etcd: it is often a separate disk. */
  data: '/var/lib/etcd',
} as const;
