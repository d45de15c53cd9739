import {
  ClusterSpec,
  releaseOf,
  softwareOf,
  type ClusterUid,
  type Fact,
  type Machine,
  type NodeName,
  type SecretRef,
  POOL_LABEL,
} from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { evolve } from './bootstrap.evolve.js';
import { keyOf, plan } from './bootstrap.planner.js';
import { ABSENT, type Bootstrap } from './bootstrap.state.js';

export const UID = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff' as ClusterUid;
export const OTHER_UID = '7f9619ff-8b86-4d01-b42d-00cf4fc964ff' as ClusterUid;
export const VERSION = 'v1.34.4';

const release = releaseOf(VERSION);
if (release === undefined) throw new Error(`${VERSION} is not in the catalogue`);
export const SOFTWARE = softwareOf(release);

export const specOf = (controlPlanes: number, workers: number, more: Record<string, unknown> = {}): ClusterSpec => {
  const set = { connection: 'lab', spec: 'lab.medium', rootDisk: { type: 'default', size: 'default' } };
  return ClusterSpec.parse({
    name: 'demo',
    controlPlane: { ...set, count: controlPlanes },
    workers: workers === 0 ? [] : [{ ...set, count: workers }],
    serviceType: 'single',
    singleNode: controlPlanes === 1 && workers === 0,
    kubernetes: {
      version: VERSION,
      networkCni: 'flannel',
      podCidr: '10.244.0.0/16',
      serviceCidr: '10.96.0.0/12',
      serviceDnsDomain: 'cluster.local',
      loadbalancer: 'haproxy',
      etcd: 'local',
      ...more,
    },
    installMonAgent: 'no',
    label: '',
    description: '',
  });
};

export const cp = (index: number): NodeName => `demo-cp-${index}-aaaaa` as NodeName;
export const w = (index: number): NodeName => `demo-w-${index}-bbbbb` as NodeName;

const poolOf = (name: NodeName): string => (name.includes('-cp-') ? 'control-plane' : 'workers');

export const machine = (name: NodeName, leader = false): Machine =>
  ({
    name,
    role: name.includes('-cp-') ? 'control-plane' : 'worker',
    pool: poolOf(name),
    leader,
    connection: 'lab',
    spec: 'lab.medium',
    providerId: `lab://${name}`,
    publicIp: '127.0.0.1',
    privateIp: '127.0.0.1',
    ssh: {
      host: '127.0.0.1',
      port: 2222,
      user: 'root',
      keyRef: 'infra-svc.ssh-key.lab' as SecretRef,
      hostKey: 'SHA256:abc',
    },
    csp: 'lab',
    region: 'lab-1',
    zone: 'lab-1a',
    labels: { [POOL_LABEL]: poolOf(name) },
  }) as unknown as Machine;

export const machinesOf = (controlPlanes: number, workers: number): Machine[] => [
  ...Array.from({ length: controlPlanes }, (_, index) => machine(cp(index + 1), index === 0)),
  ...Array.from({ length: workers }, (_, index) => machine(w(index + 1))),
];

export const requested = (controlPlanes: number, workers: number, more: Record<string, unknown> = {}): Fact => ({
  type: 'ClusterRequested',
  data: { uid: UID, spec: specOf(controlPlanes, workers, more), requestHash: 'x' },
});

export const created = (machines: readonly Machine[]): Fact => ({
  type: 'VmsCreated',
  data: { uid: UID, machines: [...machines] },
});

export const plannedFor = (requestId: string, names: readonly NodeName[]): Fact => ({
  type: 'VmsPlanned',
  data: {
    uid: UID,
    requestId,
    machines: names.map((name) => {
      const { role, pool, leader, connection, spec } = machine(name);
      return { name, role, pool, leader, connection, spec, rootDisk: { type: 'default', size: 'default' } };
    }),
  },
});

export const balanced: Fact = {
  type: 'LoadBalancerReady',
  data: { uid: UID, kind: 'haproxy', host: '198.18.7.1', port: 6443 },
};

/** The control planes balance their own API. */
export const balancedByNodes: Fact = {
  type: 'LoadBalancerReady',
  data: { uid: UID, kind: 'haproxy', host: '198.18.7.10', port: 9998, placement: 'control-planes' },
};

export const apiBalanced = (node: NodeName, ...controlPlanes: NodeName[]): Fact<'ApiBalanced'> => ({
  type: 'ApiBalanced',
  data: { uid: UID, node, controlPlanes },
});

export const desired = (node: NodeName): Fact => ({
  type: 'DesiredVersionsSet',
  data: { uid: UID, node, revision: 1, software: SOFTWARE, changesAllowed: true },
});

export const reached = (node: NodeName): Fact<'HostReached'> => ({
  type: 'HostReached',
  data: { uid: UID, node, hostKey: 'SHA256:abc', attempts: 1 },
});
export const agentStarted = (node: NodeName): Fact<'AgentStarted'> => ({
  type: 'AgentStarted',
  data: { uid: UID, node, agentVersion: '0.1.0', sha256: 'ab' },
});
export const initialized = (node: NodeName, software = SOFTWARE): Fact => ({
  type: 'NodeInitialized',
  data: { uid: UID, node, revision: 1, software, os: 'Debian 12', kernel: '6.1', bootId: 'b', changed: [] },
});
export const bootstrapped = (node: NodeName): Fact<'NodeBootstrapped'> => ({
  type: 'NodeBootstrapped',
  data: { uid: UID, node },
});
export const controlPlaneInitialized: Fact<'ControlPlaneInitialized'> = {
  type: 'ControlPlaneInitialized',
  data: {
    uid: UID,
    node: cp(1),
    endpoint: 'https://198.18.7.1:6443',
    kubeconfigRef: `bootstrap-svc.kubeconfig.${UID}` as SecretRef,
    caCertHash: `sha256:${'ab'.repeat(32)}`,
  },
};
export const etcdReady: Fact<'EtcdReady'> = {
  type: 'EtcdReady',
  data: {
    uid: UID,
    version: '3.6.5',
    members: [cp(1), cp(2), cp(3)].map((node, index) => ({ node, address: `10.0.0.${index + 1}` })),
    caRef: `bootstrap-svc.etcd-ca.${UID}` as SecretRef,
  },
};
export const networkReady: Fact<'NetworkReady'> = {
  type: 'NetworkReady',
  data: { uid: UID, cni: 'flannel', version: 'v0.27.4' },
};
export const controlPlaneJoined = (node: NodeName): Fact<'ControlPlaneJoined'> => ({
  type: 'ControlPlaneJoined',
  data: { uid: UID, node },
});
export const controlPlaneReady = (...nodes: NodeName[]): Fact<'ControlPlaneReady'> => ({
  type: 'ControlPlaneReady',
  data: { uid: UID, nodes },
});
export const workerJoined = (node: NodeName): Fact<'WorkerJoined'> => ({
  type: 'WorkerJoined',
  data: { uid: UID, node },
});
export const nodeReady = (node: NodeName, software = SOFTWARE): Fact => ({
  type: 'NodeReady',
  data: { uid: UID, node, revision: 1, software },
});
export const clusterReady: Fact<'ClusterReady'> = { type: 'ClusterReady', data: { uid: UID } };

/** Hosts that are ready to join. */
export const fit = (...nodes: NodeName[]): Fact[] =>
  nodes.flatMap((node) => [desired(node), reached(node), agentStarted(node), initialized(node), bootstrapped(node)]);

export const etcdSaved: Fact = {
  type: 'EtcdSnapshotTaken',
  data: {
    ...{ uid: UID, upgradeId: null, operation: null, requestId: 's1', snapshot: 'demo-s1', node: cp(1) },
    ...{ sha256: 'ab', bytes: 1, revision: 1, keys: 1, dataRef: null },
  },
};
export const changeStarted = (
  node: NodeName,
  change: 'join' | 'authentication' = 'join',
  number = 1,
): Fact<'ControlPlaneChangeStarted'> => ({
  type: 'ControlPlaneChangeStarted',
  data: { uid: UID, node, change, number },
});

/** A ready cluster with three control planes and two workers. */
export const wholeCluster = (): Fact[] => {
  const nodes = [cp(1), cp(2), cp(3), w(1), w(2)];
  return [
    requested(3, 2),
    created(machinesOf(3, 2)),
    balanced,
    ...fit(...nodes),
    controlPlaneInitialized,
    networkReady,
    controlPlaneJoined(cp(2)),
    controlPlaneJoined(cp(3)),
    controlPlaneReady(cp(1), cp(2), cp(3)),
    workerJoined(w(1)),
    workerJoined(w(2)),
    ...nodes.map((node) => nodeReady(node)),
    clusterReady,
  ];
};

export const stateAfter = (...facts: readonly Fact[]): Bootstrap =>
  facts.reduce((state, fact, index) => evolve(state, stored(fact, index + 1)), ABSENT);

/** The keys of the steps desired after these facts. */
export const desiredAfter = (...facts: readonly Fact[]): readonly string[] => plan(stateAfter(...facts)).map(keyOf);
