import { AgentConfig, type HostBaseline, type Oidc } from '@fairlead/contracts';
import { authenticationConfig } from '../kubeadm/authentication.config.js';
import { DEFAULT_TUNING, type ClusterSettings, type NodeSettings } from '../kubeadm/kubeadm.types.js';

export const UID = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';

/** State of a host before it was allocated. */
export const BASELINE: HostBaseline = {
  sshKeys: '1'.repeat(32),
  sshServer: '2'.repeat(32),
  accounts: '3'.repeat(32),
  jobs: '4'.repeat(32),
  units: '5'.repeat(32),
  runtime: '6'.repeat(32),
  settings: '7'.repeat(32),
};

export const OIDC: Oidc = {
  issuerUrl: 'https://id.example.org/realms/team',
  clientId: 'kubernetes',
  usernameClaim: 'preferred_username',
  usernamePrefix: 'oidc:',
  groupsClaim: 'groups',
  groupsPrefix: 'oidc:',
  requiredClaims: { team: 'it\'s "us"' },
  ca: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
};

export const CLUSTER: ClusterSettings = {
  api: 'kubeadm.k8s.io/v1beta4',
  kubernetesVersion: 'v1.34.4',
  clusterName: 'demo',
  endpoint: { host: '198.18.7.1', port: 6443 },
  podCidr: '10.244.0.0/16',
  nodeCidrMask: 25,
  serviceCidr: '10.96.0.0/12',
  dnsDomain: 'cluster.local',
  etcdEndpoints: null,
  authentication: authenticationConfig(OIDC),
  tuning: DEFAULT_TUNING,
};

/** A cluster with an external etcd. */
export const ETCD_CLUSTER: ClusterSettings = {
  ...CLUSTER,
  etcdEndpoints: ['https://127.0.0.1:2379'],
};

export const OLD_CLUSTER: ClusterSettings = {
  ...CLUSTER,
  api: 'kubeadm.k8s.io/v1beta3',
  kubernetesVersion: 'v1.30.14',
};

/** Hosts that share a kernel with others and have their images already, like containers. */
export const CONTAINER_CLUSTER: ClusterSettings = {
  ...CLUSTER,
  tuning: {
    cgroupDriver: 'cgroupfs',
    failSwapOn: false,
    kubeProxyMode: 'nftables',
    tuneConntrack: false,
    imagePullPolicy: 'Never',
    resolvConf: '/etc/resolv.conf',
    ignorePreflightErrors: ['SystemVerification'],
    failCgroupV1: false,
  },
};

export const CONTROL_PLANE: NodeSettings = {
  name: 'demo-cp-1-x7k2p',
  address: '198.18.7.11',
  providerId: 'lab://demo-cp-1-x7k2p',
  labels: {
    'topology.cloud-barista.github.io/csp': 'lab',
    'topology.kubernetes.io/region': 'lab-1',
    'topology.kubernetes.io/zone': 'lab-1a',
  },
  tuning: DEFAULT_TUNING,
};

export const WORKER: NodeSettings = {
  ...CONTROL_PLANE,
  name: 'demo-w-1-q3m9d',
  address: '198.18.7.14',
  providerId: 'lab://demo-w-1-q3m9d',
};

export const CONTAINER_NODE: NodeSettings = { ...WORKER, tuning: CONTAINER_CLUSTER.tuning };

export const CREDENTIALS = {
  token: 'abcdef.0123456789abcdef',
  caCertHash: `sha256:${'ab'.repeat(32)}`,
  certificateKey: 'cd'.repeat(32),
};

export const AGENT_CONFIG: AgentConfig = AgentConfig.parse({
  namespace: 'default',
  cluster: 'demo',
  uid: UID,
  node: WORKER.name,
  role: 'worker',
  natsUrls: ['nats://198.18.7.1:4222'],
  heartbeatIntervalMs: 10_000,
  desired: { revision: 1, software: { kubelet: '1.34.4', containerd: '1.7.24' }, changesAllowed: true },
  nodeLabels: WORKER.labels,
});

export const NATS_CREDENTIALS =
  "-----BEGIN NATS USER JWT-----\nit's a 'quoted' $(token)\n------END NATS USER JWT------\n";

export const PEERS = [
  { name: 'demo-cp-1-x7k2p', address: '198.18.7.11' },
  { name: 'demo-cp-2-m3v8c', address: '198.18.7.12' },
  { name: 'demo-cp-3-b9d4z', address: '198.18.7.13' },
] as const;

const pair = (what: string) => ({ cert: `certificate of ${what}\n`, key: `key of ${what}\n` });

export const ETCD_MEMBER = {
  uid: UID,
  image: 'registry.k8s.io/etcd:3.6.5-0',
  version: '3.6.5',
  pull: true,
  self: PEERS[0],
  members: PEERS,
  joins: false,
  certificates: {
    ca: 'certificate of the authority\n',
    server: pair('the server'),
    peer: pair('the peer'),
    healthcheckClient: pair('the health check'),
    apiserverClient: pair('the API server'),
  },
};

export const SHARED = { address: '198.18.7.10', routerId: 51, password: 'n0Secret' };

export const PUBLISHED = {
  name: 'api.demo.example.org',
  port: 443,
  target: { host: '10.0.0.10', port: 6443 },
  tunnel: { host: 'tunnel.example.org', port: 2222, hostKey: 'ssh-ed25519 AAAAhostkey' },
  privateKey: '-----BEGIN OPENSSH PRIVATE KEY-----\nkey\n-----END OPENSSH PRIVATE KEY-----\n',
  services: [],
};

export const PUBLISHED_SERVICES = [
  { name: 'grafana.demo.example.org', target: { host: '10.96.0.20', port: 80 } },
  { name: 'wiki.demo.example.org', target: { host: 'fd00::20', port: 8080 } },
];
