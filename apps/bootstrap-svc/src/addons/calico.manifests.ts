import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import type { NetworkSettings } from './catalogue.js';
import { FLANNEL_RULES, flannelContainer, flannelNetwork } from './flannel.manifests.js';
import {
  CNI_CONFIGURATION,
  CNI_PROGRAMS,
  clusterAccount,
  configMap,
  fromField,
  hostPath,
  mount,
  nodeDaemon,
  type Rule,
} from './manifest.parts.js';

const NAMESPACE = 'kube-system';
const GROUP = 'crd.projectcalico.org';
const WRITE = ['create', 'update', 'delete', 'patch'];
const READ = ['get', 'list', 'watch'];

interface CustomKind {
  readonly kind: string;
  readonly plural: string;
  readonly scope: 'Cluster' | 'Namespaced';
}

/** The kinds in which Calico keeps its state inside Kubernetes. */
const KINDS: readonly CustomKind[] = [
  ...[
    'BGPConfiguration',
    'BGPFilter',
    'BGPPeer',
    'BlockAffinity',
    'CalicoNodeStatus',
    'ClusterInformation',
    'FelixConfiguration',
    'GlobalNetworkPolicy',
    'GlobalNetworkSet',
    'HostEndpoint',
    'IPAMBlock',
    'IPAMConfig',
    'IPAMHandle',
    'IPPool',
    'IPReservation',
    'KubeControllersConfiguration',
    'StagedGlobalNetworkPolicy',
    'Tier',
  ].map((kind): CustomKind => ({ kind, plural: pluralOf(kind), scope: 'Cluster' })),
  ...['NetworkPolicy', 'NetworkSet', 'StagedKubernetesNetworkPolicy', 'StagedNetworkPolicy'].map(
    (kind): CustomKind => ({ kind, plural: pluralOf(kind), scope: 'Namespaced' }),
  ),
];

function pluralOf(kind: string): string {
  const word = kind.toLowerCase();
  if (word.endsWith('status')) return `${word}es`;
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
}

const definitions = KINDS.map(({ kind, plural, scope }): Manifest => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope,
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    preserveUnknownFields: false,
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}));

const NODE_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['pods', 'nodes', 'namespaces', 'configmaps', 'services', 'endpoints'], verbs: READ },
  { apiGroups: [''], resources: ['serviceaccounts', 'serviceaccounts/token'], verbs: ['get', 'create'] },
  { apiGroups: [''], resources: ['nodes/status', 'pods/status'], verbs: ['patch', 'update'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: READ },
  { apiGroups: ['policy.networking.k8s.io'], resources: ['adminnetworkpolicies'], verbs: READ },
  { apiGroups: [GROUP], resources: KINDS.map(({ plural }) => plural), verbs: [...READ, ...WRITE] },
];

const CONTROLLER_RULES: readonly Rule[] = [
  {
    apiGroups: [''],
    resources: ['nodes', 'pods', 'namespaces', 'services', 'endpoints', 'serviceaccounts'],
    verbs: READ,
  },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: READ },
  { apiGroups: [GROUP], resources: KINDS.map(({ plural }) => plural), verbs: [...READ, ...WRITE] },
];

/** The CNI plugin fills `__KUBECONFIG_FILEPATH__` and the like itself when it is installed. */
const cniConfiguration = (ipam: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({
    name: 'k8s-pod-network',
    cniVersion: '0.3.1',
    plugins: [
      {
        type: 'calico',
        log_level: 'info',
        datastore_type: 'kubernetes',
        nodename: '__KUBERNETES_NODE_NAME__',
        mtu: 1450,
        ipam,
        policy: { type: 'k8s' },
        kubernetes: { kubeconfig: '__KUBECONFIG_FILEPATH__' },
      },
      { type: 'portmap', snat: true, capabilities: { portMappings: true } },
    ],
  });

const value = (name: string, text: string): Readonly<Record<string, string>> => ({ name, value: text });

const installCni = (version: string, settings: string): Readonly<Record<string, unknown>> => ({
  name: 'install-cni',
  image: `quay.io/calico/cni:${version}`,
  command: ['/opt/cni/bin/install'],
  envFrom: [{ configMapRef: { name: 'kubernetes-services-endpoint', optional: true } }],
  env: [
    value('CNI_CONF_NAME', '10-calico.conflist'),
    value('SLEEP', 'false'),
    value('CNI_NET_DIR', '/etc/cni/net.d'),
    fromField('KUBERNETES_NODE_NAME', 'spec.nodeName'),
    {
      name: 'CNI_NETWORK_CONFIG',
      valueFrom: { configMapKeyRef: { name: settings, key: 'cni_network_config' } },
    },
  ],
  securityContext: { privileged: true },
  volumeMounts: [mount('cni-bin', '/host/opt/cni/bin'), mount('cni-conf', '/host/etc/cni/net.d')],
});

const calicoNode = (version: string, env: readonly Readonly<Record<string, string>>[]) => ({
  name: 'calico-node',
  image: `quay.io/calico/node:${version}`,
  env: [
    value('DATASTORE_TYPE', 'kubernetes'),
    value('WAIT_FOR_DATASTORE', 'true'),
    fromField('NODENAME', 'spec.nodeName'),
    value('CALICO_DISABLE_FILE_LOGGING', 'true'),
    value('FELIX_DEFAULTENDPOINTTOHOSTACTION', 'ACCEPT'),
    value('FELIX_IPV6SUPPORT', 'false'),
    value('FELIX_HEALTHENABLED', 'true'),
    ...env,
  ],
  securityContext: { privileged: true },
  resources: { requests: { cpu: '250m' } },
  readinessProbe: { exec: { command: ['/bin/calico-node', '-felix-ready'] }, periodSeconds: 10, timeoutSeconds: 10 },
  volumeMounts: [
    { ...mount('lib-modules', '/lib/modules'), readOnly: true },
    mount('xtables-lock', '/run/xtables.lock'),
    mount('var-run-calico', '/var/run/calico'),
    mount('var-lib-calico', '/var/lib/calico'),
    { ...mount('cni-conf', '/host/etc/cni/net.d') },
  ],
});

const VOLUMES = [
  hostPath('lib-modules', '/lib/modules'),
  hostPath('var-run-calico', '/var/run/calico'),
  hostPath('var-lib-calico', '/var/lib/calico'),
  hostPath('xtables-lock', '/run/xtables.lock', 'FileOrCreate'),
  CNI_PROGRAMS,
  CNI_CONFIGURATION,
];

const controllers = (version: string): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'calico-kube-controllers', namespace: NAMESPACE },
  spec: {
    replicas: 1,
    strategy: { type: 'Recreate' },
    selector: { matchLabels: { 'app.kubernetes.io/name': 'calico-kube-controllers' } },
    template: {
      metadata: { labels: { 'app.kubernetes.io/name': 'calico-kube-controllers' } },
      spec: {
        serviceAccountName: 'calico-kube-controllers',
        priorityClassName: 'system-cluster-critical',
        tolerations: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
        containers: [
          {
            name: 'calico-kube-controllers',
            image: `quay.io/calico/kube-controllers:${version}`,
            env: [value('ENABLED_CONTROLLERS', 'node'), value('DATASTORE_TYPE', 'kubernetes')],
          },
        ],
      },
    },
  },
});

/** github.com/projectcalico/calico: pod network with policies. VXLAN between segments only, no BGP. */
export const calico =
  (version: string) =>
  ({ podCidr, oneSegment }: NetworkSettings): readonly Manifest[] => [
    ...definitions,
    ...clusterAccount('calico-node', NAMESPACE, NODE_RULES),
    ...clusterAccount('calico-kube-controllers', NAMESPACE, CONTROLLER_RULES),
    configMap('calico-config', NAMESPACE, { cni_network_config: cniConfiguration({ type: 'calico-ipam' }) }),
    nodeDaemon('calico-node', NAMESPACE, {
      serviceAccountName: 'calico-node',
      initContainers: [installCni(version, 'calico-config')],
      containers: [
        calicoNode(version, [
          value('CALICO_NETWORKING_BACKEND', 'vxlan'),
          value('CALICO_IPV4POOL_CIDR', podCidr),
          value('CALICO_IPV4POOL_IPIP', 'Never'),
          value('CALICO_IPV4POOL_VXLAN', oneSegment ? 'CrossSubnet' : 'Always'),
          value('CLUSTER_TYPE', 'k8s'),
          value('IP', 'autodetect'),
        ]),
      ],
      volumes: VOLUMES,
    }),
    controllers(version),
  ];

/** Flannel moves the packets, Calico enforces the policies: one DaemonSet with both. */
export const canal =
  (versions: { readonly calico: string; readonly flannel: string }) =>
  (settings: NetworkSettings): readonly Manifest[] => [
    ...definitions,
    ...clusterAccount('canal', NAMESPACE, [...NODE_RULES, ...FLANNEL_RULES]),
    configMap('canal-config', NAMESPACE, {
      cni_network_config: cniConfiguration({ type: 'host-local', subnet: 'usePodCidr' }),
      'net-conf.json': flannelNetwork(settings),
    }),
    nodeDaemon('canal', NAMESPACE, {
      serviceAccountName: 'canal',
      initContainers: [installCni(versions.calico, 'canal-config')],
      containers: [
        calicoNode(versions.calico, [
          value('USE_POD_CIDR', 'true'),
          value('CALICO_NETWORKING_BACKEND', 'none'),
          value('CLUSTER_TYPE', 'k8s,canal'),
          value('IP', ''),
        ]),
        flannelContainer(versions.flannel),
      ],
      volumes: [
        ...VOLUMES,
        hostPath('run', '/run/flannel'),
        { name: 'flannel-cfg', configMap: { name: 'canal-config' } },
      ],
    }),
  ];
