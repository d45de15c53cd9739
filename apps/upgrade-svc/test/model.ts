import {
  type ClusterUid,
  type NodeChange,
  type NodeName,
  type NodeRole,
  type Probe,
  releaseOf,
  type SoftwareVersions,
  type UpgradeId,
} from '@fairlead/contracts';
import type { ClusterFacts, NodeFacts } from '../src/rules/cluster.facts.js';
import type { Versions } from '../src/rules/skew.rules.js';

export const UID = '11111111-1111-4111-8111-111111111111' as ClusterUid;

/** A node of the model, with every property that upgrades change or endanger. */
export interface ModelNode {
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly pool: string;
  readonly components: {
    readonly api: string;
    readonly controllers: string;
    readonly scheduler: string;
    /** The minor that its API server emulates; null: none (G5). */
    readonly emulates: string | null;
  } | null;
  readonly software: SoftwareVersions;
  readonly cordoned: boolean;
  /** The annotation of the plan or user that cordoned it. */
  readonly cordonedBy: string | null;
  readonly emptied: boolean;
  readonly ready: boolean;
  readonly memberHealthy: boolean;
  readonly desired: {
    readonly revision: number;
    readonly software: SoftwareVersions;
    readonly allowed: boolean;
    readonly change: NodeChange | null;
    readonly stage: { readonly id: string; readonly software: SoftwareVersions } | null;
    /** Kept until they are withdrawn, independently of the other desired state. */
    readonly probes?: readonly Probe[];
  };
  /** Change IDs that the agent has completed, and its progress in the current one. */
  readonly changesDone: readonly string[];
  readonly step: number;
  readonly stagesDone: readonly string[];
  /** Failed attempts for the desired revision. */
  readonly attempts: number;
  /** The software last reported by its agent. */
  readonly reported: SoftwareVersions;
  readonly renewals: number;
  readonly boots: number;
}

/** The surge machines of infra-svc and bootstrap-svc. */
export interface Surge {
  readonly upgradeId: UpgradeId | null;
  readonly pool: string;
  readonly desired: number;
  readonly machines: readonly {
    readonly name: NodeName;
    readonly stage: 'planned' | 'running' | 'node' | 'removed';
    readonly leaving: boolean;
  }[];
  readonly ever: number;
  /** Number of machines left at the provider. */
  readonly stock: number;
  /** Surge machines run, but never become nodes. */
  readonly unfit: boolean;
  /** How often the removal of a node from its cluster fails. */
  readonly stays: number;
}

/** The replacement of a pool's nodes, as infra-svc and bootstrap-svc carry it out. */
export interface Replacement {
  readonly requestId: string;
  readonly pool: string;
  readonly version: string;
  readonly left: readonly NodeName[];
  readonly current: {
    readonly node: NodeName;
    readonly newNode: NodeName;
    readonly stage: 'planned' | 'created' | 'joined';
  } | null;
  readonly begun: number;
  /** Number of new nodes so far, over all requests. */
  readonly ever: number;
  readonly isPaused: boolean;
  readonly isOver: boolean;
  /** How many of the next new nodes cannot join. */
  readonly unfit: number;
}

export const NO_SURGE: Surge = {
  upgradeId: null,
  pool: '',
  desired: 0,
  machines: [],
  ever: 0,
  stock: 100,
  unfit: false,
  stays: 0,
};

/** kubeadm: it fails without a change; kubeadm-half: it fails after the upgrade of the API server. */
export type FailingStep = 'stage' | 'kubeadm' | 'kubeadm-half' | 'packages' | 'certificates' | 'boot';

export interface AgentFailure {
  readonly at: FailingStep;
  readonly message: string;
}

export interface Model {
  readonly nodes: Readonly<Record<string, ModelNode>>;
  readonly leader: NodeName | null;
  readonly proxy: string;
  readonly marked: readonly NodeName[];
  readonly snapshots: number;
  /** The node on which kubeadm upgrade apply ran, by version. */
  readonly applied: readonly (readonly [version: string, node: NodeName])[];
  /** Machines beyond the requested size of their pools, until they are deleted. */
  readonly surge: Surge;
  /** null: none was requested. */
  readonly replacement: Replacement | null;
  /** Nodes whose pods are protected by a budget. */
  readonly kept: readonly NodeName[];
  /** The step at which the agents of these nodes fail in every attempt. */
  readonly fails: Readonly<Record<string, AgentFailure>>;
  /** Violations that happened. */
  readonly harm: readonly string[];
}

const softwareAt = (version: string): SoftwareVersions => ({
  containerd: '1.7.24',
  kubelet: version,
  kubeadm: version,
  kubectl: version,
});

export const modelNode = (name: string, role: NodeRole, pool: string, version: string): ModelNode => ({
  name: name as NodeName,
  role,
  pool,
  components:
    role === 'control-plane' ? { api: version, controllers: version, scheduler: version, emulates: null } : null,
  software: softwareAt(version),
  cordoned: false,
  cordonedBy: null,
  emptied: false,
  ready: true,
  memberHealthy: role === 'control-plane',
  desired: { revision: 1, software: softwareAt(version), allowed: false, change: null, stage: null },
  changesDone: [],
  step: 0,
  stagesDone: [],
  attempts: 0,
  reported: softwareAt(version),
  renewals: 0,
  boots: 0,
});

export const cp = (index: number): NodeName => `demo-cp-${index}` as NodeName;

export const w = (index: number): NodeName => `demo-w-${index}` as NodeName;

const count = <T>(n: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: n }, (_, i) => make(i + 1));

export const modelOf = (controlPlanes: number, workers: number, version: string): Model => {
  const nodes = [
    ...count(controlPlanes, (index) => modelNode(cp(index), 'control-plane', 'control-plane', version)),
    ...count(workers, (index) => modelNode(w(index), 'worker', 'w', version)),
  ];
  return {
    nodes: Object.fromEntries(nodes.map((node) => [node.name, node])),
    leader: cp(1),
    proxy: version,
    marked: [],
    snapshots: 0,
    applied: [],
    surge: NO_SURGE,
    replacement: null,
    kept: [],
    fails: {},
    harm: [],
  };
};

export const nodesOf = (model: Model): readonly ModelNode[] => Object.values(model.nodes);

export const changeNode = (model: Model, name: string, change: Partial<ModelNode>): Model => {
  const node = model.nodes[name];
  if (node === undefined) throw new Error(`the model has no ${name}`);
  return { ...model, nodes: { ...model.nodes, [name]: { ...node, ...change } } };
};

export const versionsOf = (model: Model): Versions =>
  nodesOf(model).map(({ name, role, software, components }) => ({
    name,
    role,
    kubelet: software['kubelet'] ?? '',
    kubeProxy: model.proxy,
    apiServer: components?.api ?? null,
    controllerManager: components?.controllers ?? null,
    scheduler: components?.scheduler ?? null,
    kubeletTalksToLocalApi: true,
  }));

const etcdVersion = (version: string): string =>
  (releaseOf(`v${version}`)?.etcd ?? '3.5.35').replace('3.5.24-0', '3.5.35');

const memberOf = (model: Model, node: ModelNode) => ({
  id: node.name,
  name: node.name,
  node: node.name,
  started: true,
  healthy: node.memberHealthy,
  learner: false,
  leader: model.leader === node.name,
  version: etcdVersion(node.components?.api ?? ''),
  dbBytes: 20_000_000,
  behind: 0,
  v2StoreClean: true,
});

export const etcdOf = (model: Model) => ({
  members: nodesOf(model)
    .filter(({ role }) => role === 'control-plane')
    .map((node) => memberOf(model, node)),
  alarms: [],
  quotaBytes: 2_147_483_648,
});

const emulating = (components: ModelNode['components']): readonly string[] =>
  (components?.emulates ?? null) === null ? [] : [`--emulated-version=${components?.emulates}`];

const nodeFacts = (model: Model, node: ModelNode): NodeFacts => ({
  name: node.name,
  role: node.role,
  pool: node.pool,
  ready: node.ready,
  notReadyBecause: node.ready ? null : 'kubelet stopped posting node status',
  unschedulable: node.cordoned,
  kubelet: node.software['kubelet'] ?? '',
  kubeProxy: model.proxy,
  containerRuntime: node.software['containerd'] ?? '',
  software: node.software,
  lost: false,
  staticPods:
    node.components === null
      ? []
      : (
          [
            ['kube-apiserver', node.components.api],
            ['kube-controller-manager', node.components.controllers],
            ['kube-scheduler', node.components.scheduler],
            ['etcd', etcdVersion(node.components.api)],
          ] as const
        ).map(([component, version]) => ({
          component,
          version,
          image: `${component}:v${version}`,
          ready: true,
          args: emulating(node.components),
          volumes: [],
          sidecars: [],
          environment: [],
          requests: { cpuMillis: 0, memoryBytes: 0 },
          limits: { cpuMillis: 0, memoryBytes: 0 },
        })),
  certificates: node.role === 'control-plane' ? [{ name: 'apiserver', expiresAt: '2027-11-01T00:00:00.000Z' }] : null,
  clockSkewMs: 4,
  disk: { freeBytes: 20e9, neededBytes: 2e9 },
  source: null,
  kubeletSettings: null,
  cgroupV1: null,
  kubeletTalksToLocalApi: node.role === 'control-plane' ? true : null,
  allocatable: { cpuMillis: 2_000, memoryBytes: 4e9 },
});

/** The facts that the survey would collect from the model. */
export const factsOf = (model: Model, at: string): ClusterFacts => ({
  at,
  unread: [],
  nodes: nodesOf(model).map((node) => nodeFacts(model, node)),
  etcd: etcdOf(model),
  system: [
    { kind: 'DaemonSet', name: 'kube-proxy', desired: nodesOf(model).length, ready: nodesOf(model).length },
    { kind: 'Deployment', name: 'coredns', desired: 2, ready: 2 },
  ],
  budgets: [],
  pods: [],
  webhooks: [],
  deprecatedApis: [],
  snapshot: null,
  healthyPasses: 2,
  settings: [],
  corefile: null,
  kubeadm: { extraArgs: {}, extraVolumes: {}, extraEnvs: {} },
  installed: null,
  dryRun: null,
});
