import type {
  ClusterUid,
  ConnectionName,
  Fact,
  KubernetesVersion,
  Machine,
  MachinePlan,
  NodeName,
} from '@fairlead/contracts';

/** Values for specs. */
export const uid = '11111111-1111-4111-8111-111111111111' as ClusterUid;
export const otherUid = '22222222-2222-4222-8222-222222222222' as ClusterUid;
export const node = 'demo-w-1-aaaaa' as NodeName;
export const SOFTWARE_1_34 = { containerd: '1.7.24', kubelet: '1.34.4', kubeadm: '1.34.4', kubectl: '1.34.4' };

const connection = 'lab' as ConnectionName;
const rootDisk = { type: 'default', size: 'default' };

export const planOf = (name: string): MachinePlan => ({
  name: name as NodeName,
  role: 'worker',
  pool: 'w',
  leader: false,
  connection,
  spec: 'lab.medium',
  rootDisk,
});

export const machineOf = (name: string): Machine => ({
  name: name as NodeName,
  role: 'worker',
  pool: 'w',
  leader: false,
  connection,
  spec: 'lab.medium',
  providerId: `lab://${name}`,
  publicIp: '127.0.0.9',
  privateIp: '10.0.0.9',
  ssh: {
    host: '127.0.0.9',
    port: 22,
    user: 'root',
    keyRef: 'infra-svc.ssh-key.lab' as Machine['ssh']['keyRef'],
    hostKey: null,
  },
  csp: 'lab',
  region: 'lab-1',
  zone: 'lab-1a',
});

export const clusterRequested = (of = uid, version = 'v1.34.4'): Fact<'ClusterRequested'> => {
  const nodeSet = { connection, count: 1, spec: 'lab.medium', rootDisk };
  return {
    type: 'ClusterRequested',
    data: {
      uid: of,
      requestHash: 'hash',
      spec: {
        name: 'demo' as Fact<'ClusterRequested'>['data']['spec']['name'],
        controlPlane: nodeSet,
        workers: [nodeSet],
        serviceType: 'multi',
        singleNode: false,
        kubernetes: {
          version: version as KubernetesVersion,
          networkCni: 'flannel',
          podCidr: '10.244.0.0/16',
          serviceCidr: '10.96.0.0/12',
          serviceDnsDomain: 'cluster.local',
          loadbalancer: 'haproxy',
          etcd: 'local',
        },
        installMonAgent: 'no',
        label: '',
        description: '',
      },
    },
  };
};

export const vmsPlanned = (...names: string[]): Fact<'VmsPlanned'> => ({
  type: 'VmsPlanned',
  data: { uid, machines: names.map(planOf) } as Fact<'VmsPlanned'>['data'],
});

export const vmsCreated = (of: ClusterUid, ...names: string[]): Fact<'VmsCreated'> => ({
  type: 'VmsCreated',
  data: { uid: of, machines: names.map(machineOf) } as Fact<'VmsCreated'>['data'],
});
