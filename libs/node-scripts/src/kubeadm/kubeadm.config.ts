import { versionOf } from '@fairlead/contracts';
import { stringify } from 'yaml';
import { ETCD_CLIENT } from '../etcd/etcd.paths.js';
import { API_PORT, CRI_SOCKET } from './kubeadm.types.js';
import { AUTHENTICATION_FILE, AUTHENTICATION_FOLDER } from './authentication.config.js';
import type { ClusterSettings, JoinCredentials, NodeSettings, Tuning } from './kubeadm.types.js';

type Document = Readonly<Record<string, unknown>>;

const yaml = (documents: readonly Document[]): string =>
  documents.map((document) => stringify(document, { lineWidth: 0 })).join('---\n');

/** Only kubeadm init itself needs this token; each join gets new credentials. */
const INIT_TOKEN_TTL = '15m0s';
const API_SERVER_TIMEOUT = '4m0s';
const DISCOVERY_TIMEOUT = '5m0s';

const address = ({ host, port }: { host: string; port: number }): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** v1beta4 turned extraArgs into lists, so that an argument can be given twice. */
const extraArgs = (api: ClusterSettings['api'], args: Readonly<Record<string, string>>): unknown =>
  api === 'kubeadm.k8s.io/v1beta3' ? args : Object.entries(args).map(([name, value]) => ({ name, value }));

const labelsText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');

const nodeRegistration = (cluster: ClusterSettings, node: NodeSettings): Document => ({
  name: node.name,
  criSocket: CRI_SOCKET,
  imagePullPolicy: node.tuning.imagePullPolicy,
  ignorePreflightErrors: node.tuning.ignorePreflightErrors,
  ...(node.taints === undefined || node.taints.length === 0 ? {} : { taints: node.taints }),
  kubeletExtraArgs: extraArgs(cluster.api, {
    'node-ip': node.address,
    'provider-id': node.providerId,
    ...(node.hasCloudController === true ? { 'cloud-provider': 'external' } : {}),
    ...(Object.keys(node.labels).length === 0 ? {} : { 'node-labels': labelsText(node.labels) }),
  }),
});

/** If the file exists from the start, changing it needs no other flags and no restart. */
const authentication = ({ api, authentication: content }: ClusterSettings): Document =>
  content === undefined
    ? {}
    : {
        extraArgs: extraArgs(api, { 'authentication-config': AUTHENTICATION_FILE }),
        extraVolumes: [
          {
            name: 'authentication',
            hostPath: AUTHENTICATION_FOLDER,
            mountPath: AUTHENTICATION_FOLDER,
            readOnly: true,
            pathType: 'Directory',
          },
        ],
      };

const clusterConfiguration = (cluster: ClusterSettings): Document => ({
  apiVersion: cluster.api,
  kind: 'ClusterConfiguration',
  clusterName: cluster.clusterName,
  kubernetesVersion: cluster.kubernetesVersion,
  controlPlaneEndpoint: address(cluster.endpoint),
  ...(cluster.tuning.imageRepository === undefined ? {} : { imageRepository: cluster.tuning.imageRepository }),
  ...(cluster.etcdEndpoints === null
    ? {}
    : { etcd: { external: { endpoints: cluster.etcdEndpoints, ...ETCD_CLIENT } } }),
  networking: {
    podSubnet: cluster.podCidr,
    serviceSubnet: cluster.serviceCidr,
    dnsDomain: cluster.dnsDomain,
  },
  apiServer: {
    certSANs: [
      ...new Set([
        cluster.endpoint.host,
        ...(cluster.publicAddresses ?? []),
        ...(cluster.publishedName === undefined ? [] : [cluster.publishedName]),
      ]),
    ],
    ...authentication(cluster),
    ...(cluster.api === 'kubeadm.k8s.io/v1beta3' ? { timeoutForControlPlane: API_SERVER_TIMEOUT } : {}),
  },
  ...(cluster.nodeCidrMask === undefined
    ? {}
    : {
        controllerManager: {
          extraArgs: extraArgs(cluster.api, { 'node-cidr-mask-size': `${cluster.nodeCidrMask}` }),
        },
      }),
});

/** kubelet 1.31 introduced the field failCgroupV1; older ones reject the whole configuration. */
const FAIL_CGROUP_V1_SINCE_MINOR = 31;

const kubeletSettings = ({ kubernetesVersion }: ClusterSettings, tuning: Tuning): Document => ({
  cgroupDriver: tuning.cgroupDriver,
  failSwapOn: tuning.failSwapOn,
  ...(tuning.failCgroupV1 === undefined || versionOf(kubernetesVersion).minor < FAIL_CGROUP_V1_SINCE_MINOR
    ? {}
    : { failCgroupV1: tuning.failCgroupV1 }),
  ...(tuning.resolvConf === undefined ? {} : { resolvConf: tuning.resolvConf }),
});

const kubeletConfiguration = (cluster: ClusterSettings): Document => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  ...kubeletSettings(cluster, cluster.tuning),
});

/** kubeadm's patches for this node; an upgrade of the node must name the folder again. */
export const PATCHES_FOLDER = '/etc/fairlead/kubeadm-patches';

/**
 * Settings of the node's own kubelet that differ from the cluster's: every kubelet gets the configuration that init
 * wrote into the cluster, and a host may be of another kind than the first one. undefined: no difference.
 */
export const kubeletPatch = (cluster: ClusterSettings, node: NodeSettings): string | undefined => {
  const desired = kubeletSettings(cluster, node.tuning);
  const given = kubeletSettings(cluster, cluster.tuning);
  const names = new Set([...Object.keys(given), ...Object.keys(desired)]);
  // null removes a field (merge patch), so that the kubelet's default applies.
  const differing = [...names]
    .filter((name) => desired[name] !== given[name])
    .map((name) => [name, desired[name] ?? null]);
  return differing.length === 0 ? undefined : stringify(Object.fromEntries(differing), { lineWidth: 0 });
};

const kubeProxyConfiguration = ({ tuning, podCidr }: ClusterSettings): Document => ({
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  mode: tuning.kubeProxyMode,
  clusterCIDR: podCidr,
  ...(tuning.tuneConntrack ? {} : { conntrack: { maxPerCore: 0, min: 0 } }),
});

/**
 * Configuration of `kubeadm init` on the first control plane. `schedulable` removes its taint, so that workloads may
 * run there.
 */
export const initConfig = (cluster: ClusterSettings, node: NodeSettings & { readonly schedulable: boolean }): string =>
  yaml([
    {
      apiVersion: cluster.api,
      kind: 'InitConfiguration',
      bootstrapTokens: [{ ttl: INIT_TOKEN_TTL }],
      localAPIEndpoint: { advertiseAddress: node.address, bindPort: API_PORT },
      nodeRegistration: { ...nodeRegistration(cluster, node), ...(node.schedulable ? { taints: [] } : {}) },
      ...(cluster.api === 'kubeadm.k8s.io/v1beta3'
        ? {}
        : { timeouts: { controlPlaneComponentHealthCheck: API_SERVER_TIMEOUT } }),
    },
    clusterConfiguration(cluster),
    kubeletConfiguration(cluster),
    kubeProxyConfiguration(cluster),
  ]);

/**
 * Input of `kubeadm init phase upload-certs`, so that it neither looks up the newest version on the internet nor the
 * host's default route.
 */
export const uploadCertsConfig = (cluster: ClusterSettings, advertiseAddress: string): string =>
  yaml([
    {
      apiVersion: cluster.api,
      kind: 'InitConfiguration',
      localAPIEndpoint: { advertiseAddress, bindPort: API_PORT },
      nodeRegistration: { criSocket: CRI_SOCKET },
    },
    clusterConfiguration(cluster),
  ]);

const joinConfiguration = (cluster: ClusterSettings, node: NodeSettings, credentials: JoinCredentials): Document => ({
  apiVersion: cluster.api,
  kind: 'JoinConfiguration',
  discovery: {
    bootstrapToken: {
      apiServerEndpoint: address(cluster.endpoint),
      token: credentials.token,
      caCertHashes: [credentials.caCertHash],
    },
    ...(cluster.api === 'kubeadm.k8s.io/v1beta3' ? { timeout: DISCOVERY_TIMEOUT } : {}),
  },
  nodeRegistration: nodeRegistration(cluster, node),
  ...(kubeletPatch(cluster, node) === undefined ? {} : { patches: { directory: PATCHES_FOLDER } }),
  ...(cluster.api === 'kubeadm.k8s.io/v1beta3' ? {} : { timeouts: { discovery: DISCOVERY_TIMEOUT } }),
});

/** Configuration of `kubeadm join` on a worker. */
export const joinWorkerConfig = (cluster: ClusterSettings, node: NodeSettings, credentials: JoinCredentials): string =>
  yaml([joinConfiguration(cluster, node, credentials)]);

/** Configuration of `kubeadm join` on a further control plane; its API server advertises its own address. */
export const joinControlPlaneConfig = (
  cluster: ClusterSettings,
  node: NodeSettings,
  credentials: JoinCredentials & { readonly certificateKey: string },
): string =>
  yaml([
    {
      ...joinConfiguration(cluster, node, credentials),
      controlPlane: {
        localAPIEndpoint: { advertiseAddress: node.address, bindPort: API_PORT },
        certificateKey: credentials.certificateKey,
      },
    },
  ]);
