import { toClusterSpec } from '@fairlead/domain';
import type { ClusterUid, EventType, Fact, Machine, MachinePlan, NodeName, StoredEvent } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import { goodRequest } from './clusters/clusters.fixtures.js';
import { clustersProjection, type ClusterDoc } from './clusters/clusters.projection.js';
import { nodesProjection, type NodeDoc } from './nodes/nodes.projection.js';
import { operationsProjection, type OperationsDoc } from './operations/operations.projection.js';
import { operationView } from './operations/operations.view.js';

export const uid = '00000000-0000-4000-8000-000000000001' as ClusterUid;
export const CONTROL_PLANES = ['demo-cp-1', 'demo-cp-2', 'demo-cp-3'];
export const WORKERS = ['demo-w-1', 'demo-w-2'];
export const NODES = [...CONTROL_PLANES, ...WORKERS];

export const plan = (name: string): MachinePlan => ({
  name: name as NodeName,
  role: name.includes('-cp-') ? 'control-plane' : 'worker',
  pool: name.includes('-cp-') ? 'control-plane' : 'worker-1',
  leader: name === 'demo-cp-1',
  connection: 'lab' as MachinePlan['connection'],
  spec: 'lab.small',
  rootDisk: { type: 'default', size: 'default' },
});

export const machine = (name: string): Machine => {
  const { rootDisk: _rootDisk, ...planned } = plan(name);
  return {
    ...planned,
    providerId: `lab://${name}`,
    publicIp: '127.0.0.9',
    privateIp: '10.0.0.9',
    ssh: {
      host: '127.0.0.9',
      port: 22,
      user: 'root',
      keyRef: 'infra-svc.key' as Machine['ssh']['keyRef'],
      hostKey: null,
    },
    csp: 'lab',
    region: 'lab-1',
    zone: 'lab-1a',
  };
};

export const nodeFact = <T extends EventType>(
  type: T,
  node: string,
  data: Readonly<Record<string, unknown>> = {},
): Fact => ({ type, data: { uid, node, ...data } }) as unknown as Fact;

export const requested: Fact = {
  type: 'ClusterRequested',
  data: { uid, spec: toClusterSpec(goodRequest), requestHash: 'hash' },
};
export const accepted: Fact = { type: 'ClusterAccepted', data: { uid } };
export const planned = (names: readonly string[]): Fact => ({
  type: 'VmsPlanned',
  data: { uid, machines: names.map(plan) },
});
export const created = (names: readonly string[]): readonly Fact[] => [
  ...names.map((name): Fact => ({ type: 'VmCreated', data: { uid, machine: machine(name) } })),
  { type: 'VmsCreated', data: { uid, machines: names.map(machine) } },
];
export const prepared = (names: readonly string[]): readonly Fact[] => [
  ...names.map((name) => nodeFact('HostReached', name, { hostKey: 'SHA256:x', attempts: 1 })),
  ...names.map((name) => nodeFact('AgentStarted', name, { agentVersion: '1', sha256: 'x' })),
  ...names.map((name) =>
    nodeFact('NodeInitialized', name, {
      revision: 1,
      software: { kubelet: '1.34.4' },
      os: 'debian 12',
      kernel: '6.1',
      bootId: 'b',
      changed: [],
    }),
  ),
  ...names.map((name) => nodeFact('NodeBootstrapped', name)),
];
export const balanced: Fact = {
  type: 'LoadBalancerReady',
  data: { uid, kind: 'haproxy', host: '127.0.0.1', port: 9998 },
};
export const ready = (names: readonly string[]): readonly Fact[] =>
  names.map((name) => nodeFact('NodeReady', name, { revision: 1, software: { kubelet: '1.34.4' } }));
export const clusterReady: Fact = { type: 'ClusterReady', data: { uid } };

/** The whole of a create, 3 + 2, in the design's order; one event a second. */
export const CREATE: readonly Fact[] = [
  requested,
  accepted,
  planned(NODES),
  ...created(NODES),
  balanced,
  ...prepared(NODES),
  nodeFact('ControlPlaneInitialized', 'demo-cp-1', {
    endpoint: 'x',
    kubeconfigRef: 'bootstrap-svc.x',
    caCertHash: 'x',
  }),
  { type: 'NetworkReady', data: { uid, cni: 'kilo', version: '1' } },
  nodeFact('ControlPlaneJoined', 'demo-cp-2'),
  nodeFact('ControlPlaneJoined', 'demo-cp-3'),
  { type: 'ControlPlaneReady', data: { uid, nodes: CONTROL_PLANES as NodeName[] } },
  ...WORKERS.map((name) => nodeFact('WorkerJoined', name)),
  ...ready(NODES),
  clusterReady,
];

export const inLog = (facts: readonly Fact[]): readonly StoredEvent[] =>
  facts.map((fact, index) => stored(fact, index + 1));

/** The rows of a projection after a history, taken in one batch. */
export const rowsOf = <Doc>(projection: Projection<Doc>, history: readonly StoredEvent[]): readonly Doc[] => {
  const rows = new Map<string, Doc>();
  for (const event of history) {
    for (const key of projection.keys(event)) {
      const after = projection.evolve(rows.get(key), event, key);
      if (after === undefined) rows.delete(key);
      else rows.set(key, after);
    }
  }
  return [...rows.values()];
};

/** Everything that the gateway shows of the cluster after a history. */
export const world = (facts: readonly Fact[]) => {
  const history = inLog(facts);
  const cluster: ClusterDoc | undefined = rowsOf(clustersProjection, history)[0];
  const nodes: readonly NodeDoc[] = rowsOf(nodesProjection, history);
  const operations: OperationsDoc | undefined = rowsOf(operationsProjection, history)[0];
  const views =
    operations === undefined
      ? []
      : operations.operations.map((operation) => operationView(operations, operation, nodes));
  return { cluster, nodes, operations, views };
};
