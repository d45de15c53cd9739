/** The part of kubeadm's configuration that is the same for every node of a cluster. */
export interface ClusterSettings {
  readonly api: 'kubeadm.k8s.io/v1beta3' | 'kubeadm.k8s.io/v1beta4';
  /** `v1.34.4` */
  readonly kubernetesVersion: string;
  readonly clusterName: string;
  /** The load balancer's address, which certificates and kubeconfigs contain. */
  readonly endpoint: Endpoint;
  /** Additional addresses of the control planes for clients outside their network, e.g. through NAT. */
  readonly publicAddresses?: readonly string[];
  /** By which clients reach the API through the tunnel; absent: it is not published. */
  readonly publishedName?: string;
  readonly podCidr: string;
  /** Prefix length of each node's pod range; absent: Kubernetes' default. */
  readonly nodeCidrMask?: number;
  readonly serviceCidr: string;
  readonly dnsDomain: string;
  /** Client URLs of an external etcd; null: kubeadm runs one on every control plane. */
  readonly etcdEndpoints: readonly string[] | null;
  /** Content of the API servers' authentication file; absent: the cluster was created without one. */
  readonly authentication?: string;
  /**
   * Tuning for the host on which kubeadm init runs: its kubelet and kube-proxy settings are written into the cluster.
   */
  readonly tuning: Tuning;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Settings that differ between kinds of hosts, not between clusters. */
export interface Tuning {
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  readonly failSwapOn: boolean;
  readonly kubeProxyMode: 'iptables' | 'ipvs' | 'nftables';
  /** False leaves the kernel's connection tracking limits unchanged, for hosts that share a kernel. */
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

/** Name, address and labels of one node. */
export interface NodeSettings {
  readonly name: string;
  /** The node's own address: its kubelet reports it, and a control plane's API server advertises it. */
  readonly address: string;
  readonly providerId: string;
  /** A cloud controller initializes the node: until then, its kubelet keeps other pods away. */
  readonly hasCloudController?: true;
  /** Only labels that a kubelet may set itself (NodeRestriction admission). */
  readonly labels: Readonly<Record<string, string>>;
  /** Taints of a worker from its registration on; absent: none. */
  readonly taints?: readonly { readonly key: string; readonly value?: string | undefined; readonly effect: string }[];
  /**
   * Tuning for the node's own host. If its kubelet must differ from the cluster's settings, a kubeadm patch sets that.
   */
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
