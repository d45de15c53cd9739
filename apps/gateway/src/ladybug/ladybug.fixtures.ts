/** Bodies of the shapes that CB-Ladybug's own clients and sample scripts send: every field that they know, empty where they want the default. */

const set = (count: number, change: Readonly<Record<string, unknown>> = {}) => ({
  connection: 'lab',
  count,
  spec: 'lab.medium',
  rootDisk: { type: '', size: '' },
  role: '',
  ...change,
});

const body = (
  kubernetes: Readonly<Record<string, unknown>>,
  change: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> => ({
  label: '',
  description: '',
  serviceType: 'multi',
  config: {
    installMonAgent: '',
    kubernetes: {
      networkCni: 'kilo',
      podCidr: '10.244.0.0/16',
      serviceCidr: '10.96.0.0/12',
      serviceDnsDomain: 'cluster.local',
      ...kubernetes,
    },
  },
  controlPlane: [set(1)],
  worker: [set(1)],
  ...change,
});

export const SAMPLE_CLUSTERS: readonly (readonly [what: string, body: Readonly<Record<string, unknown>>])[] = [
  ['of several clouds, of the release before last', { ...body({}), config: { kubernetes: { networkCni: 'kilo' } } }],
  ['of several clouds', body({ etcd: 'local', loadbalancer: '' })],
  [
    'in one cloud, with roles',
    body(
      { etcd: 'local', loadbalancer: '', networkCni: 'flannel' },
      { serviceType: 'single', controlPlane: [set(1, { role: 'cp-role' })], worker: [set(2, { role: 'worker-role' })] },
    ),
  ],
  [
    'with an external etcd',
    body(
      { etcd: 'external', loadbalancer: 'haproxy', networkCni: 'flannel' },
      { serviceType: 'single', controlPlane: [set(3)] },
    ),
  ],
  [
    'with an NFS export',
    body({ etcd: 'local', loadbalancer: '', storageclass: { nfs: { server: '10.0.0.5', path: '/data' } } }),
  ],
  ['without an NFS export', body({ etcd: '', loadbalancer: '', storageclass: { nfs: { server: '', path: '' } } })],
  [
    'with null for what is not desired',
    body({ etcd: null, loadbalancer: null, version: null, storageclass: null }, { serviceType: null, label: null }),
  ],
  [
    'of an older release, with fields that are gone',
    {
      ...body({ version: '', etcd: 'local' }),
      installMonAgent: 'no',
      mcis: '',
      controlPlane: [set(1, { csp: 'aws' })],
    },
  ],
];

export const SAMPLE_NODES = { controlPlane: [], worker: [set(1, { region: 'x' })], count: 1 };

const everyNode = (count: number, role: string) => ({
  ...{ connection: 'lab', count, spec: 'lab.medium', role },
  rootDisk: { type: 'ssd', size: '40' },
});

/** A request in which no field of CB-Ladybug is left out, and none but the monitoring agent, which Fairlead does not install, has its default. */
export const EVERY_FIELD = {
  name: 'every-field',
  controlPlane: [everyNode(3, 'control-plane-role')],
  worker: [everyNode(2, 'worker-role')],
  serviceType: 'single',
  config: {
    installMonAgent: 'no',
    kubernetes: {
      version: '1.34.4',
      networkCni: 'calico',
      podCidr: '10.200.0.0/16',
      serviceCidr: '10.97.0.0/16',
      serviceDnsDomain: 'every.local',
      storageclass: { nfs: { server: '10.0.0.5', path: '/data' } },
      loadbalancer: 'nlb',
      etcd: 'external',
    },
  },
  label: 'team=a',
  description: 'all of it',
};

/** The fields of CB-Ladybug's answers by their `kind`, except the private key of a node (`credential`), which is no part of an answer. */
export const FIELDS_OF: Readonly<Record<string, readonly string[]>> = {
  Cluster: [
    ...['name', 'kind', 'status', 'mcis', 'namespace', 'k8sVersion', 'clusterConfig', 'cpLeader', 'cpGroup'],
    ...['networkCni', 'label', 'installMonAgent', 'loadbalancer', 'etcd', 'description', 'createdTime', 'serviceType'],
    'nodes',
  ],
  Node: [
    ...['name', 'kind', 'publicIp', 'privateIp', 'role', 'spec', 'csp', 'createdTime'],
    ...['cspLabel', 'regionLabel', 'zoneLabel'],
  ],
  ClusterList: ['kind', 'items'],
  NodeList: ['kind', 'items'],
  Status: ['kind', 'code', 'message'],
};
