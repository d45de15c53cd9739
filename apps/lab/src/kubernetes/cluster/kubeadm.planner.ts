import { LRUCache } from 'lru-cache';
import { stringify } from 'yaml';
import type { ConfigMap, Namespace, Service } from '../objects/core.types.js';
import type { Draft, KubeObject } from '../objects/kube.object.js';
import type { DaemonSet, Deployment } from '../objects/workload.types.js';
import { addressIn } from '../admission/service.addresses.js';
import {
  CONFIG_MAPS,
  DAEMON_SETS,
  DEPLOYMENTS,
  NAMESPACES,
  SERVICE_ACCOUNTS,
  SERVICES,
} from '../resources/builtin.resources.js';
import type { Resource, ResourceDefinition } from '../resources/resource.js';
import { CONTROL_PLANE_LABEL, SIMULATED } from '../nodes/node.planner.js';
import { NODE_CIDR_MASK_DEFAULT } from '../nodes/pod.network.js';
import { companionsOf, REGISTRY } from '../controlplane/static.pods.planner.js';

export interface KubeadmContext {
  readonly name: string;
  readonly version: string;
  readonly podCidr: string;
  readonly nodeCidrMask: number;
  readonly serviceCidr: string;
  readonly controlPlaneEndpoint: string;
  /** undefined: kubeadm runs etcd. */
  readonly etcdEndpoints: readonly string[] | undefined;
  readonly caPem: string;
}

/** An object that exists after `kubeadm init`. */
export interface PlannedObject {
  readonly resource: ResourceDefinition;
  readonly draft: Draft;
}

const planned = <T extends KubeObject>(resource: Resource<T>, draft: Draft<T>): PlannedObject => ({
  resource,
  draft: draft as unknown as Draft,
});

const KUBE_SYSTEM = 'kube-system';
const NAMESPACE_NAMES = ['default', KUBE_SYSTEM, 'kube-public', 'kube-node-lease'];

/**
 * The objects that an API server and kubeadm create: namespaces, services, ConfigMaps, CoreDNS, kube-proxy. Ordered by
 * dependency.
 */
export const planKubeadmObjects = (context: KubeadmContext): readonly PlannedObject[] => [
  ...NAMESPACE_NAMES.map((name) => planned(NAMESPACES, namespace(name))),
  planned(SERVICES, kubernetesService(context)),
  planned(CONFIG_MAPS, kubeadmConfig(context)),
  planned(CONFIG_MAPS, kubeletConfig(context)),
  planned(CONFIG_MAPS, clusterInfo(context)),
  planned(
    CONFIG_MAPS,
    configMap('coredns', { Corefile: '.:53 {\n    errors\n    health\n    ready\n    kubernetes cluster.local\n}\n' }),
  ),
  planned(CONFIG_MAPS, configMap('kube-proxy', { 'config.conf': yamlOf(kubeProxyConfig(context)) })),
  planned(SERVICE_ACCOUNTS, serviceAccount('coredns')),
  planned(SERVICE_ACCOUNTS, serviceAccount('kube-proxy')),
  planned(SERVICES, dnsService(context)),
  planned(DEPLOYMENTS, coreDns(context.version)),
  planned(DAEMON_SETS, kubeProxy(context.version)),
];

const namespace = (name: string): Draft<Namespace> => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, annotations: { [SIMULATED]: 'true' } },
});

const configMap = (name: string, data: Readonly<Record<string, string>>, space = KUBE_SYSTEM): Draft<ConfigMap> => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: space },
  data,
});

const serviceAccount = (name: string): Draft => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace: KUBE_SYSTEM },
});

const kubernetesService = ({ serviceCidr }: KubeadmContext): Draft<Service> => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kubernetes', namespace: 'default', labels: { component: 'apiserver', provider: 'kubernetes' } },
  spec: {
    clusterIP: addressIn(serviceCidr, 1),
    ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }],
  },
});

/** The fields of kubeadm's v1beta4 ClusterConfiguration that a join and an upgrade read. */
const kubeadmConfig = (context: KubeadmContext): Draft<ConfigMap> =>
  configMap('kubeadm-config', {
    ClusterConfiguration: stringify({
      apiVersion: 'kubeadm.k8s.io/v1beta4',
      kind: 'ClusterConfiguration',
      clusterName: context.name,
      controlPlaneEndpoint: context.controlPlaneEndpoint,
      etcd:
        context.etcdEndpoints === undefined
          ? { local: { dataDir: '/var/lib/etcd' } }
          : { external: { endpoints: context.etcdEndpoints } },
      imageRepository: REGISTRY,
      kubernetesVersion: context.version,
      networking: { dnsDomain: 'cluster.local', podSubnet: context.podCidr, serviceSubnet: context.serviceCidr },
      ...(context.nodeCidrMask === NODE_CIDR_MASK_DEFAULT
        ? {}
        : {
            controllerManager: { extraArgs: [{ name: 'node-cidr-mask-size', value: `${context.nodeCidrMask}` }] },
          }),
    }),
  });

/** A small cache is enough, because most clusters use the same ranges. */
const SAME_MAX = 100;
const written = new LRUCache<string, string>({ max: SAME_MAX });

/** Serializes equal documents once. */
const yamlOf = (document: object): string => {
  const key = JSON.stringify(document);
  const text = written.get(key) ?? stringify(document);
  written.set(key, text);
  return text;
};

const kubeletConfig = ({ serviceCidr }: KubeadmContext): Draft<ConfigMap> =>
  configMap('kubelet-config', {
    kubelet: yamlOf({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      cgroupDriver: 'systemd',
      clusterDNS: [addressIn(serviceCidr, 10)],
      clusterDomain: 'cluster.local',
      rotateCertificates: true,
      staticPodPath: '/etc/kubernetes/manifests',
    }),
  });

const clusterInfo = ({ caPem, controlPlaneEndpoint }: KubeadmContext): Draft<ConfigMap> =>
  configMap(
    'cluster-info',
    {
      kubeconfig: stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: '',
            cluster: {
              'certificate-authority-data': Buffer.from(caPem).toString('base64'),
              server: `https://${controlPlaneEndpoint}`,
            },
          },
        ],
      }),
    },
    'kube-public',
  );

const kubeProxyConfig = ({ podCidr }: KubeadmContext): object => ({
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  clusterCIDR: podCidr,
  mode: '',
});

const dnsService = ({ serviceCidr }: KubeadmContext): Draft<Service> => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: 'kube-dns',
    namespace: KUBE_SYSTEM,
    labels: { 'k8s-app': 'kube-dns', 'kubernetes.io/cluster-service': 'true', 'kubernetes.io/name': 'CoreDNS' },
  },
  spec: {
    clusterIP: addressIn(serviceCidr, 10),
    selector: { 'k8s-app': 'kube-dns' },
    ports: [
      { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
      { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53 },
      { name: 'metrics', port: 9153, protocol: 'TCP', targetPort: 9153 },
    ],
  },
});

export const coreDns = (version: string): Draft<Deployment> => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'coredns', namespace: KUBE_SYSTEM, labels: { 'k8s-app': 'kube-dns' } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { 'k8s-app': 'kube-dns' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
    template: {
      metadata: { labels: { 'k8s-app': 'kube-dns' } },
      spec: {
        serviceAccountName: 'coredns',
        priorityClassName: 'system-cluster-critical',
        nodeSelector: { 'kubernetes.io/os': 'linux' },
        tolerations: [
          { key: 'CriticalAddonsOnly', operator: 'Exists' },
          { key: CONTROL_PLANE_LABEL, effect: 'NoSchedule' },
        ],
        containers: [
          {
            name: 'coredns',
            image: `${REGISTRY}/coredns/coredns:${companionsOf(version).coredns}`,
            args: ['-conf', '/etc/coredns/Corefile'],
            ports: [
              { name: 'dns', containerPort: 53, protocol: 'UDP' },
              { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
              { name: 'metrics', containerPort: 9153, protocol: 'TCP' },
            ],
            resources: { requests: { cpu: '100m', memory: '70Mi' }, limits: { memory: '170Mi' } },
          },
        ],
      },
    },
  },
});

const KUBE_PROXY_COMMAND = [
  '/usr/local/bin/kube-proxy',
  '--config=/var/lib/kube-proxy/config.conf',
  '--hostname-override=$(NODE_NAME)',
];

export const kubeProxy = (version: string): Draft<DaemonSet> => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'kube-proxy', namespace: KUBE_SYSTEM, labels: { 'k8s-app': 'kube-proxy' } },
  spec: {
    selector: { matchLabels: { 'k8s-app': 'kube-proxy' } },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
    template: {
      metadata: { labels: { 'k8s-app': 'kube-proxy' } },
      spec: {
        serviceAccountName: 'kube-proxy',
        hostNetwork: true,
        priorityClassName: 'system-node-critical',
        nodeSelector: { 'kubernetes.io/os': 'linux' },
        tolerations: [{ operator: 'Exists' }],
        containers: [
          {
            name: 'kube-proxy',
            image: `${REGISTRY}/kube-proxy:${version}`,
            command: KUBE_PROXY_COMMAND,
          },
        ],
      },
    },
  },
});
