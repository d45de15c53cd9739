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
