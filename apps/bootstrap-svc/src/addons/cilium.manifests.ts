import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import type { NetworkSettings } from './catalogue.js';
import {
  CNI_CONFIGURATION,
  CNI_PROGRAMS,
  clusterAccount,
  configMap,
  fromField,
  hostPath,
  mount,
  namespacedRole,
  nodeDaemon,
  type Rule,
} from './manifest.parts.js';

type Json = Readonly<Record<string, unknown>>;

const NAMESPACE = 'kube-system';
const SETTINGS = 'cilium-config';
const GROUP = 'cilium.io';
const READ = ['get', 'list', 'watch'];
const LOOPBACK = '127.0.0.1';
const AGENT_PORT = 9879;
const OPERATOR_PORT = 9234;
const CGROUPS = '/run/cilium/cgroupv2';
const BPF = '/sys/fs/bpf';
/** Cilium's programs find pods of one another by these labels, e.g. to see on which nodes the network works. */
const AGENT_LABELS = { 'k8s-app': 'cilium', 'app.kubernetes.io/name': 'cilium-agent' };
const OPERATOR_LABELS = {
  'io.cilium/app': 'operator',
  name: 'cilium-operator',
  'app.kubernetes.io/name': 'cilium-operator',
};

const custom = (kinds: readonly string[], verbs: readonly string[]): Rule => ({
  apiGroups: [GROUP],
  resources: kinds.map((kind) => `cilium${kind}`),
  verbs,
});

/** What the agent follows, also of features that are off: it waits until it can read each of them. */
const WATCHED = [
  'bgpadvertisements',
  'bgpnodeconfigs',
  'bgppeerconfigs',
  'bgppeeringpolicies',
  'cidrgroups',
  'clusterwideenvoyconfigs',
  'clusterwidenetworkpolicies',
  'egressgatewaypolicies',
  'endpoints',
  'endpointslices',
  'envoyconfigs',
  'identities',
  'l2announcementpolicies',
  'loadbalancerippools',
  'localredirectpolicies',
  'networkpolicies',
  'nodeconfigs',
  'nodes',
  'podippools',
];

/** The kinds in which Cilium keeps its state inside Kubernetes; the operator defines them. */
const DEFINED = [
  ...WATCHED.filter((kind) => kind !== 'bgppeeringpolicies'),
  'bgpclusterconfigs',
  'bgpnodeconfigoverrides',
  'gatewayclassconfigs',
];

const AGENT_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['namespaces', 'services', 'pods', 'endpoints', 'nodes'], verbs: READ },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: READ },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: READ },
  custom(WATCHED, ['list', 'watch']),
  custom(['identities', 'endpoints', 'nodes'], ['create']),
  custom(['identities'], ['update']),
  custom(['endpoints'], ['get', 'delete']),
  custom(['nodes', 'nodes/status'], ['get', 'update']),
  custom(['endpoints', 'endpoints/status', 'l2announcementpolicies/status', 'bgpnodeconfigs/status'], ['patch']),
];

const OPERATOR_RULES: readonly Rule[] = [
  // Pods of the cluster's DNS that are older than the network are started anew.
  { apiGroups: [''], resources: ['pods'], verbs: [...READ, 'delete'] },
  { apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['namespaces', 'services', 'endpoints'], verbs: READ },
  { apiGroups: [''], resources: ['services/status'], verbs: ['update', 'patch'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: [SETTINGS], verbs: ['patch'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'get', 'update'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: [...READ, 'create'] },
  {
    apiGroups: ['apiextensions.k8s.io'],
    resources: ['customresourcedefinitions'],
    resourceNames: DEFINED.map((kind) => `cilium${kind}.${GROUP}`),
    verbs: ['update'],
  },
  custom(['networkpolicies', 'clusterwidenetworkpolicies'], [...READ, 'create', 'update', 'patch', 'deletecollection']),
  custom(['networkpolicies/status', 'clusterwidenetworkpolicies/status'], ['patch', 'update']),
  custom(['endpoints', 'identities'], ['list', 'watch', 'delete']),
  custom(['identities', 'nodes/status'], ['update']),
  custom(['nodes'], [...READ, 'create', 'update', 'delete']),
  custom(
    ['endpointslices', 'envoyconfigs', 'bgppeerconfigs', 'bgpadvertisements', 'bgpnodeconfigs'],
    [...READ, 'create', 'update', 'patch', 'delete'],
  ),
  custom(['endpointslices'], ['deletecollection']),
  custom(['bgpclusterconfigs/status', 'bgppeerconfigs/status'], ['update']),
  custom(
    ['loadbalancerippools', 'podippools', 'bgppeeringpolicies', 'bgpclusterconfigs', 'bgpnodeconfigoverrides'],
    READ,
  ),
  custom(['podippools'], ['create']),
  custom(['loadbalancerippools/status'], ['patch']),
];

/** Routes without a tunnel where nodes share a segment, VXLAN elsewhere. */
const routing = ({ podCidr, oneSegment }: NetworkSettings): Readonly<Record<string, string>> =>
  oneSegment
    ? { 'routing-mode': 'native', 'ipv4-native-routing-cidr': podCidr, 'auto-direct-node-routes': 'true' }
    : { 'routing-mode': 'tunnel', 'tunnel-protocol': 'vxlan', 'auto-direct-node-routes': 'false' };

/** Pods' addresses, their policies and their way between nodes; kube-proxy keeps the services. */
const configuration = (settings: NetworkSettings): Readonly<Record<string, string>> => ({
  ...routing(settings),
  'kube-proxy-replacement': 'false',
  // Each node's range is the one that kube-controller-manager gives it.
  ipam: 'kubernetes',
  'k8s-require-ipv4-pod-cidr': 'true',
  'enable-ipv4': 'true',
  'enable-ipv6': 'false',
  'enable-ipv4-masquerade': 'true',
  'cluster-name': 'default',
  'cluster-id': '0',
  'identity-allocation-mode': 'crd',
  'identity-management-mode': 'agent',
  'enable-policy': 'default',
  'enable-k8s-networkpolicy': 'true',
  // Off: policies of the application layer and of DNS names (they need Envoy), flow logs, mutual authentication.
  'enable-l7-proxy': 'false',
  'external-envoy-proxy': 'false',
  'enable-policy-secrets-sync': 'false',
  'enable-hubble': 'false',
  'mesh-auth-enabled': 'false',
  // A node takes ordinary pods only while its agent works.
  'set-cilium-node-taints': 'true',
  'remove-cilium-node-taints': 'true',
  'set-cilium-is-up-condition': 'true',
  'write-cni-conf-when-ready': '/host/etc/cni/net.d/05-cilium.conflist',
  'cni-exclusive': 'true',
  'cni-log-file': '/var/run/cilium/cilium-cni.log',
  'operator-api-serve-addr': `${LOOPBACK}:${OPERATOR_PORT}`,
  'bpf-root': BPF,
  'cgroup-root': CGROUPS,
  procfs: '/host/proc',
  'preallocate-bpf-maps': 'false',
  'bpf-map-dynamic-size-ratio': '0.0025',
  'monitor-aggregation': 'medium',
  'monitor-aggregation-interval': '5s',
  'monitor-aggregation-flags': 'all',
});

/** By the balanced address: the service's own would wait for kube-proxy, and be gone with it. */
const surroundings = ({ endpoint: { host, port } }: NetworkSettings): readonly Json[] => [
  fromField('K8S_NODE_NAME', 'spec.nodeName'),
  fromField('CILIUM_K8S_NAMESPACE', 'metadata.namespace'),
  { name: 'KUBERNETES_SERVICE_HOST', value: host },
  { name: 'KUBERNETES_SERVICE_PORT', value: String(port) },
];

const confined = (...capabilities: readonly string[]): Json => ({
  seLinuxOptions: { level: 's0', type: 'spc_t' },
  capabilities: { drop: ['ALL'], add: capabilities },
});

const setting = (name: string, key: string): Json => ({
  name,
  valueFrom: { configMapKeyRef: { name: SETTINGS, key, optional: true } },
});

/** Runs a tool of the image in the host's own namespaces: what it mounts or sets is then the host's. */
const onHost = (name: string, tool: string, namespaces: readonly string[]) => {
  const entered = namespaces.map((namespace) => `--${namespace}`).join(' ');
  return (image: string, argument = ''): Json => ({
    name,
    image,
    command: ['sh', '-ec'],
    args: [
      [
        `cp /usr/bin/${tool} /host/opt/cni/bin/`,
        `nsenter ${entered} /opt/cni/bin/${tool} ${argument}`.trimEnd(),
        `rm /host/opt/cni/bin/${tool}`,
      ].join('; '),
    ],
    securityContext: confined('SYS_ADMIN', 'SYS_CHROOT', 'SYS_PTRACE'),
    volumeMounts: [mount('host-proc', '/hostproc'), mount('cni-bin', '/host/opt/cni/bin')],
  });
};

const mountCgroups = onHost('mount-cgroup', 'cilium-mount', [
  'cgroup=/hostproc/1/ns/cgroup',
  'mount=/hostproc/1/ns/mnt',
]);
const setSysctls = onHost('apply-sysctl-overwrites', 'cilium-sysctlfix', ['mount=/hostproc/1/ns/mnt']);

const preparations = (image: string, settings: NetworkSettings): readonly Json[] => [
  {
    name: 'config',
    image,
    command: ['cilium-dbg', 'build-config'],
    env: surroundings(settings),
    volumeMounts: [mount('tmp', '/tmp')],
  },
  mountCgroups(image, CGROUPS),
  setSysctls(image),
  {
    name: 'mount-bpf-fs',
    image,
    command: ['sh', '-ec'],
    args: [`grep -q ' ${BPF} bpf ' /proc/self/mounts || mount -t bpf bpf ${BPF}`],
    securityContext: { privileged: true },
    volumeMounts: [{ ...mount('bpf', BPF), mountPropagation: 'Bidirectional' }],
  },
  {
    name: 'clean-cilium-state',
    image,
    command: ['/init-container.sh'],
    env: [
      setting('CILIUM_ALL_STATE', 'clean-cilium-state'),
      setting('CILIUM_BPF_STATE', 'clean-cilium-bpf-state'),
      setting('WRITE_CNI_CONF_WHEN_READY', 'write-cni-conf-when-ready'),
      ...surroundings(settings),
    ],
    securityContext: confined('NET_ADMIN', 'SYS_MODULE', 'SYS_ADMIN', 'SYS_RESOURCE'),
    volumeMounts: [
      mount('bpf', BPF),
      { ...mount('cgroups', CGROUPS), mountPropagation: 'HostToContainer' },
      mount('run', '/var/run/cilium'),
    ],
  },
  {
    name: 'install-cni-binaries',
    image,
    command: ['/install-plugin.sh'],
    securityContext: confined(),
    volumeMounts: [mount('cni-bin', '/host/opt/cni/bin')],
  },
];

/** The agent stays when only the API server is away: restarting it would not bring that back. */
const healthy = (needsKubernetes: boolean): Json => ({
  httpGet: {
    host: LOOPBACK,
    path: '/healthz',
    port: AGENT_PORT,
    httpHeaders: [
      { name: 'brief', value: 'true' },
      ...(needsKubernetes ? [] : [{ name: 'require-k8s-connectivity', value: 'false' }]),
    ],
  },
});

const agent = (image: string, settings: NetworkSettings): Json => ({
  name: 'cilium-agent',
  image,
  command: ['cilium-agent'],
  args: ['--config-dir=/tmp/cilium/config-map'],
  env: [
    ...surroundings(settings),
    // In seconds: how soon, and at last how seldom, it asks an API server again that is away.
    { name: 'KUBE_CLIENT_BACKOFF_BASE', value: '1' },
    { name: 'KUBE_CLIENT_BACKOFF_DURATION', value: '120' },
  ],
  startupProbe: { ...healthy(true), initialDelaySeconds: 5, periodSeconds: 2, failureThreshold: 300 },
  readinessProbe: { ...healthy(true), periodSeconds: 30, timeoutSeconds: 5, failureThreshold: 3 },
  livenessProbe: { ...healthy(false), periodSeconds: 30, timeoutSeconds: 5, failureThreshold: 10 },
  securityContext: confined(
    ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'IPC_LOCK', 'KILL', 'NET_ADMIN', 'NET_RAW'],
    ...['SETGID', 'SETUID', 'SYS_ADMIN', 'SYS_MODULE', 'SYS_RESOURCE', 'SYSLOG'],
  ),
  volumeMounts: [
    mount('tmp', '/tmp'),
    mount('run', '/var/run/cilium'),
    { ...mount('netns', '/var/run/cilium/netns'), mountPropagation: 'HostToContainer' },
    { ...mount('bpf', BPF), mountPropagation: 'HostToContainer' },
    mount('proc-sys-net', '/host/proc/sys/net'),
    mount('proc-sys-kernel', '/host/proc/sys/kernel'),
    mount('cni-conf', '/host/etc/cni/net.d'),
    { ...mount('lib-modules', '/lib/modules'), readOnly: true },
    mount('xtables-lock', '/run/xtables.lock'),
  ],
});

const VOLUMES = [
  { name: 'tmp', emptyDir: {} },
  hostPath('run', '/var/run/cilium'),
  hostPath('netns', '/var/run/netns'),
  hostPath('bpf', BPF),
  hostPath('cgroups', CGROUPS),
  hostPath('host-proc', '/proc', 'Directory'),
  hostPath('proc-sys-net', '/proc/sys/net', 'Directory'),
  hostPath('proc-sys-kernel', '/proc/sys/kernel', 'Directory'),
  hostPath('lib-modules', '/lib/modules'),
  hostPath('xtables-lock', '/run/xtables.lock', 'FileOrCreate'),
  CNI_PROGRAMS,
  CNI_CONFIGURATION,
];

const OPERATOR_HEALTHY = { httpGet: { host: LOOPBACK, path: '/healthz', port: OPERATOR_PORT } };

const operatorPod = (image: string, settings: NetworkSettings): Json => ({
  hostNetwork: true,
  serviceAccountName: 'cilium-operator',
  priorityClassName: 'system-cluster-critical',
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  // It defines what the agents wait for, so it waits neither for them nor for what waits for them.
  tolerations: [
    'node-role.kubernetes.io/control-plane',
    'node.kubernetes.io/not-ready',
    'node.cloudprovider.kubernetes.io/uninitialized',
    'node.cilium.io/agent-not-ready',
  ].map((key) => ({ key, operator: 'Exists' })),
  securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      name: 'cilium-operator',
      image,
      command: ['cilium-operator-generic'],
      args: ['--config-dir=/tmp/cilium/config-map'],
      env: surroundings(settings),
      readinessProbe: { ...OPERATOR_HEALTHY, periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 5 },
      livenessProbe: { ...OPERATOR_HEALTHY, initialDelaySeconds: 60, periodSeconds: 10, timeoutSeconds: 3 },
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      volumeMounts: [{ ...mount('settings', '/tmp/cilium/config-map'), readOnly: true }],
    },
  ],
  volumes: [{ name: 'settings', configMap: { name: SETTINGS } }],
});

const operator = (image: string, settings: NetworkSettings): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'cilium-operator', namespace: NAMESPACE, labels: OPERATOR_LABELS },
  spec: {
    replicas: 1,
    // Two on one node would want the same port.
    strategy: { type: 'Recreate' },
    selector: { matchLabels: { 'io.cilium/app': 'operator', name: 'cilium-operator' } },
    template: { metadata: { labels: OPERATOR_LABELS }, spec: operatorPod(image, settings) },
  },
});

/** github.com/cilium/cilium: pod network with policies, in the kernel by eBPF. Its operator makes its custom resources. */
export const cilium =
  (version: string) =>
  (settings: NetworkSettings): readonly Manifest[] => {
    const image = `quay.io/cilium/cilium:${version}`;
    return [
      ...clusterAccount('cilium', NAMESPACE, AGENT_RULES),
      ...clusterAccount('cilium-operator', NAMESPACE, OPERATOR_RULES),
      ...namespacedRole('cilium-config-agent', NAMESPACE, 'cilium', [
        { apiGroups: [''], resources: ['configmaps'], verbs: READ },
      ]),
      // Also without ztunnel: the operator looks for one that was left, to take it away.
      ...namespacedRole('cilium-operator-ztunnel', NAMESPACE, 'cilium-operator', [
        { apiGroups: ['apps'], resources: ['daemonsets'], verbs: [...READ, 'create', 'delete'] },
      ]),
      configMap(SETTINGS, NAMESPACE, configuration(settings)),
      nodeDaemon(
        'cilium',
        NAMESPACE,
        {
          serviceAccountName: 'cilium',
          terminationGracePeriodSeconds: 1,
          securityContext: { appArmorProfile: { type: 'Unconfined' }, seccompProfile: { type: 'Unconfined' } },
          initContainers: preparations(image, settings),
          containers: [agent(image, settings)],
          volumes: VOLUMES,
        },
        AGENT_LABELS,
      ),
      operator(`quay.io/cilium/operator-generic:${version}`, settings),
    ];
  };
