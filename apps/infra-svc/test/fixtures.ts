import type {
  ClusterName,
  ClusterSpec,
  ClusterUid,
  ConnectionName,
  Fact,
  KubernetesVersion,
  Machine,
  MachinePlan,
  NodeSet,
  SecretRef,
} from '@fairlead/contracts';

export const UID = '11111111-1111-4111-8111-111111111111' as ClusterUid;
export const LATER_UID = '22222222-2222-4222-8222-222222222222' as ClusterUid;
export const LAB = 'lab' as ConnectionName;

export const nodeSet = (count: number, changes: Partial<NodeSet> = {}): NodeSet => ({
  connection: LAB,
  count,
  spec: 'lab.medium',
  rootDisk: { type: 'default', size: 'default' },
  ...changes,
});

export type SpecChanges = Partial<Omit<ClusterSpec, 'kubernetes'>> & {
  kubernetes?: Partial<ClusterSpec['kubernetes']>;
};

export const clusterSpec = ({ kubernetes, ...changes }: SpecChanges = {}): ClusterSpec => ({
  name: 'demo' as ClusterName,
  controlPlane: nodeSet(3),
  workers: [nodeSet(2)],
  serviceType: 'multi',
  singleNode: false,
  kubernetes: {
    version: 'v1.34.4' as KubernetesVersion,
    networkCni: 'canal',
    podCidr: '10.244.0.0/16',
    serviceCidr: '10.96.0.0/12',
    serviceDnsDomain: 'cluster.local',
    loadbalancer: 'haproxy',
    etcd: 'local',
    ...kubernetes,
  },
  installMonAgent: 'no',
  label: '',
  description: '',
  ...changes,
});

export const requested = (spec: ClusterSpec = clusterSpec(), uid = UID): Fact<'ClusterRequested'> => ({
  type: 'ClusterRequested',
  data: { uid, spec, requestHash: 'hash' },
});

export const runningMachine = (plan: MachinePlan, at = 1): Machine => ({
  name: plan.name,
  role: plan.role,
  pool: plan.pool,
  leader: plan.leader,
  connection: plan.connection,
  spec: plan.spec,
  providerId: `lab://m-${at}`,
  publicIp: `127.1.0.${at}`,
  privateIp: `10.0.0.${at}`,
  ssh: {
    host: `127.1.0.${at}`,
    port: 22,
    user: 'root',
    keyRef: 'infra-svc.ssh-key.lab' as SecretRef,
    hostKey: null,
  },
  csp: 'lab',
  region: 'lab-1',
  zone: plan.zone ?? 'lab-1a',
});

export const registered = (
  changes: Partial<Fact<'ConnectionRegistered'>['data']> = {},
): Fact<'ConnectionRegistered'> => ({
  type: 'ConnectionRegistered',
  data: {
    name: LAB,
    provider: 'lab',
    region: 'lab-1',
    zone: '',
    settings: { endpoint: 'http://127.0.0.1:1' },
    secretRef: null,
    ...changes,
  },
});
