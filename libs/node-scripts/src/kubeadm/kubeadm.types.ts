/** What kubeadm's configuration says the same way for every node of a cluster. */
export interface ClusterSettings {
  readonly api: 'kubeadm.k8s.io/v1beta3' | 'kubeadm.k8s.io/v1beta4';
  /** `v1.34.4` */
  readonly kubernetesVersion: string;
  readonly clusterName: string;
  /** The load balancer's address: what certificates and kubeconfigs name. */
  readonly endpoint: Endpoint;
  /** Addresses besides at which control planes are reached from outside of their network, e.g. through NAT. */
  readonly publicAddresses?: readonly string[];
  readonly podCidr: string;
  /** Prefix length of each node's range of it; absent: Kubernetes' default. */
  readonly nodeCidrMask?: number;
  readonly serviceCidr: string;
  readonly dnsDomain: string;
  /** Where the members of an etcd that is not kubeadm's answer; null: kubeadm runs one on every control plane. */
  readonly etcdEndpoints: readonly string[] | null;
  /** The content of the API servers' file for the authentication of users; absent: the cluster was made without one. */
  readonly authentication?: string;
  /** Of the host on which kubeadm init runs: what it says of kubelets and kube-proxy is written into the cluster. */
  readonly tuning: Tuning;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** What differs between kinds of hosts, not between clusters. */
export interface Tuning {
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  readonly failSwapOn: boolean;
  readonly kubeProxyMode: 'iptables' | 'ipvs' | 'nftables';
  /** False leaves the kernel's connection tracking limits alone, where hosts share a kernel. */
  readonly tuneConntrack: boolean;
  readonly imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  readonly imageRepository?: string;
  readonly resolvConf?: string;
  readonly ignorePreflightErrors: readonly string[];
  /** False lets a kubelet of 1.35 or newer run on cgroup v1. */
  readonly failCgroupV1?: boolean;
}

export const DEFAULT_TUNING: Tuning = {
  cgroupDriver: 'systemd',
  failSwapOn: true,
  kubeProxyMode: 'iptables',
  tuneConntrack: true,
  imagePullPolicy: 'IfNotPresent',
  ignorePreflightErrors: [],
};

/** What one node is called, where it listens and what it is labelled with. */
export interface NodeSettings {
  readonly name: string;
  /** The node's own address: kubelets report it, and a control plane's API server advertises it. */
  readonly address: string;
  readonly providerId: string;
  /** Only labels that a kubelet may give itself (NodeRestriction admission). */
  readonly labels: Readonly<Record<string, string>>;
  /** Of a worker, from its registration on; absent: none. */
  readonly taints?: readonly { readonly key: string; readonly value?: string | undefined; readonly effect: string }[];
  /** Of the node's own host. Where its kubelet must be set differently from the cluster's, a kubeadm patch says so. */
  readonly tuning: Tuning;
}

export interface JoinCredentials {
  readonly token: string;
  /** `sha256:<hex>` of the cluster CA's public key. */
  readonly caCertHash: string;
}

/** The port of every API server on its own node. */
export const API_PORT = 6443;

export const CRI_SOCKET = 'unix:///run/containerd/containerd.sock';
