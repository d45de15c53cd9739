import type {
  Machine,
  UpgradeId,
  EventData,
  Fact,
  NodeChange,
  NodeName,
  Probe,
  NodeRole,
  SoftwareVersions,
  ClusterUid,
} from '@fairlead/contracts';
import { minorsAhead, releaseOf } from '@fairlead/contracts';
import { machineOf, planOf } from '../src/nodes/nodes.fixtures.js';
import type { ClusterFacts, NodeFacts } from '../src/rules/cluster.facts.js';
import { c8QuorumWithout } from '../src/rules/control-plane.rules.js';
import { skewFindings, type Versions } from '../src/rules/skew.rules.js';
import type { EffectFact } from '../src/rollout/rollout.commands.js';
import type { AnyRolloutTask, CheckGates, EmptyNode, ReleaseNode } from '../src/rollout/rollout.tasks.js';

export const UID = '11111111-1111-4111-8111-111111111111' as ClusterUid;

/** A node of the model: what a real one has, as far as upgrades change or endanger it. */
export interface ModelNode {
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly pool: string;
  readonly components: {
    readonly api: string;
    readonly controllers: string;
    readonly scheduler: string;
    /** The minor as which its API server behaves, where that is not its own (G5). */
    readonly emulates: string | null;
  } | null;
  readonly software: SoftwareVersions;
  readonly cordoned: boolean;
  /** The annotation of whoever cordoned it. */
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
    /** Stay until they are taken back, whatever else becomes desired. */
    readonly probes?: readonly Probe[];
  };
  /** Change ids that the agent remembers to have done, and how far it is in the present one. */
  readonly changesDone: readonly string[];
  readonly step: number;
  readonly stagesDone: readonly string[];
  readonly renewals: number;
  readonly boots: number;
}

/** What infra-svc and bootstrap-svc hold of surge machines. */
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
  /** How many more the provider has. */
  readonly stock: number;
  /** Surge machines that run and never become nodes. */
  readonly unfit: boolean;
  /** How often a node can not be taken out of its cluster. */
  readonly stays: number;
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

export interface Model {
  readonly nodes: Readonly<Record<string, ModelNode>>;
  readonly leader: NodeName | null;
  readonly proxy: string;
  readonly marked: readonly NodeName[];
  readonly snapshots: number;
  /** Version -> node on which kubeadm upgrade apply ran. */
  readonly applied: readonly (readonly [version: string, node: NodeName])[];
  /** Machines beyond the requested size of their pools, until they are gone. */
  readonly surge: Surge;
  /** Nodes whose pods a budget keeps. */
  readonly kept: readonly NodeName[];
  /** What went wrong for good: things that must never be. */
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
    kept: [],
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
        })),
  certificates: node.role === 'control-plane' ? [{ name: 'apiserver', expiresAt: '2027-11-01T00:00:00.000Z' }] : null,
  clockSkewMs: 4,
  disk: { freeBytes: 20e9, neededBytes: 2e9 },
  source: null,
  kubeletTalksToLocalApi: node.role === 'control-plane' ? true : null,
  allocatable: { cpuMillis: 2_000, memoryBytes: 4e9 },
});

/** What preflight would gather of the model. */
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
});

/** What a job does next to the world, and what has to be recorded of it. `wait`: it cannot go on yet. */
export interface Effect {
  readonly model: Model;
  readonly facts: readonly EffectFact[];
  /** Stated by the desired stream of the node, at once with the effect. */
  readonly desired: readonly Fact<'DesiredVersionsSet'>[];
  readonly wait?: string;
}

const nothing = (model: Model): Effect => ({ model, facts: [], desired: [] });
const effect = (model: Model, ...facts: readonly EffectFact[]): Effect => ({ model, facts, desired: [] });
const waits = (model: Model, wait: string, ...facts: readonly EffectFact[]): Effect => ({
  model,
  facts,
  desired: [],
  wait,
});

type Desired = Pick<ModelNode['desired'], 'software' | 'allowed' | 'change' | 'stage' | 'probes'>;

const setDesired = (model: Model, name: NodeName, target: Desired): Effect => {
  const node = model.nodes[name];
  if (node === undefined) return nothing(model);
  const { revision, ...before } = node.desired;
  const probes = target.probes ?? before.probes ?? [];
  const all = { ...target, probes };
  if (JSON.stringify({ ...before, probes: before.probes ?? [] }) === JSON.stringify(all)) return nothing(model);
  const desired = { revision: revision + 1, ...all };
  const data: EventData<'DesiredVersionsSet'> = {
    uid: UID,
    node: name,
    revision: desired.revision,
    software: target.software,
    changesAllowed: target.allowed,
    ...(target.change === null ? {} : { change: target.change }),
    ...(target.stage === null ? {} : { stage: target.stage }),
    ...(probes.length === 0 ? {} : { probes: [...probes] }),
  };
  const model2 = changeNode(model, name, {
    desired: {
      revision: desired.revision,
      software: target.software,
      allowed: target.allowed,
      change: target.change,
      stage: target.stage,
      probes,
    },
    step: 0,
  });
  return { model: model2, facts: [], desired: [{ type: 'DesiredVersionsSet', data }] };
};

const healthy = (model: Model, but: readonly NodeName[]): boolean =>
  nodesOf(model).every(
    ({ name, ready, memberHealthy, role }) => but.includes(name) || (ready && (role === 'worker' || memberHealthy)),
  );

/** Why a gate does not hold; undefined: it does. */
const gateFails = (model: Model, gate: string, { node, software, excused, stage }: CheckGates): string | undefined => {
  const one = node === undefined ? undefined : model.nodes[node];
  switch (gate) {
    case 'cluster-healthy':
      return healthy(model, excused) ? undefined : 'a node is not Ready';
    case 'etcd-healthy':
    case 'etcd-member':
      return nodesOf(model).every(
        ({ name, role, memberHealthy }) =>
          role === 'worker' || memberHealthy || (stage === 'before' && excused.includes(name)),
      )
        ? undefined
        : 'a member does not answer';
    case 'etcd-quorum':
      return node === undefined ? undefined : c8QuorumWithout(etcdOf(model), node)[0]?.sentence;
    case 'node-ready':
      if (one?.ready !== true) return 'the node is not Ready';
      return one.software['kubelet'] === software['kubelet']
        ? undefined
        : `kubelet is ${String(one.software['kubelet'])}`;
    default:
      return undefined;
  }
};

const idsOf = ({ uid, upgradeId }: AnyRolloutTask) => ({ uid, upgradeId });

const checkGates = (model: Model, job: CheckGates): Effect => {
  const [gate] = job.gates;
  if (gate === undefined) return nothing(model);
  const data = { ...idsOf(job), operation: job.operation, stage: job.stage, gate, rule: 'C1', node: job.node ?? null };
  const message = gateFails(model, gate, job);
  if (message !== undefined)
    return waits(model, message, { type: 'GateFailed', data: { ...data, facts: {}, message } });
  const facts = gate === 'etcd-leader' ? { leader: model.leader } : {};
  return effect(model, { type: 'GatePassed', data: { ...data, facts, waitedMs: 0 } });
};

/** One step at a time, so that a crash may come after each. */
const emptyNode = (model: Model, job: EmptyNode): Effect => {
  const node = model.nodes[job.node];
  if (node === undefined) return nothing(model);
  const data = { ...idsOf(job), operation: job.operation, node: job.node };
  if (job.drain && job.since === null) {
    const byPlan = !node.cordoned || node.cordonedBy === job.upgradeId;
    const cordoned = changeNode(model, job.node, {
      cordoned: true,
      cordonedBy: byPlan ? job.upgradeId : node.cordonedBy,
    });
    return effect(cordoned, { type: 'NodeCordoned', data: { ...data, byPlan } });
  }
  if (job.moveEtcdLeader !== null) {
    const to = model.leader === job.node || model.leader === null ? job.moveEtcdLeader : model.leader;
    return effect({ ...model, leader: to }, { type: 'EtcdLeaderMoved', data: { ...data, to } });
  }
  const emptied = { ...data, evictedPods: job.drain ? 3 : 0, forcedPods: 0, tookMs: 0 };
  if (job.drain && model.kept.includes(job.node)) {
    const pods = [`shop/web-${job.node}`];
    const message = "Cannot evict pod as it would violate the pod's disruption budget.";
    return waits(model, message, { type: 'EvictionRefused', data: { ...data, budget: 'shop/web', pods, message } });
  }
  return effect(changeNode(model, job.node, { emptied: job.drain }), { type: 'NodeEmptied', data: emptied });
};

const releaseNode = (model: Model, job: ReleaseNode): Effect => {
  const node = model.nodes[job.node];
  if (node === undefined) return nothing(model);
  const data = { ...idsOf(job), operation: job.operation, node: job.node };
  if (job.uncordon) {
    const isOurs = node.cordonedBy === job.upgradeId;
    const after = isOurs ? changeNode(model, job.node, { cordoned: false, cordonedBy: null, emptied: false }) : model;
    return effect(after, { type: 'NodeUncordoned', data });
  }
  if (job.unmark)
    return effect(
      { ...model, marked: model.marked.filter((name) => name !== job.node) },
      { type: 'NodesUnmarked', data: { ...idsOf(job), nodes: [job.node] } },
    );
  const set = setDesired(model, job.node, { software: job.software, allowed: false, change: null, stage: null });
  return { ...set, facts: [{ type: 'UpgradeWithdrawn', data: { ...data, leftFailed: job.leftFailed } }] };
};

const forEach = (model: Model, names: readonly NodeName[], act: (before: Model, name: NodeName) => Effect): Effect =>
  names.reduce<Effect>((before, name) => {
    const next = act(before.model, name);
    return { model: next.model, facts: [], desired: [...before.desired, ...next.desired] };
  }, nothing(model));

const withProbes = (model: Model, name: NodeName, probes: readonly Probe[]): Effect => {
  const node = model.nodes[name];
  return node === undefined ? nothing(model) : setDesired(model, name, { ...desiredOf(node), probes });
};

const desiredOf = ({ desired: { software, allowed, change, stage } }: ModelNode): Desired => ({
  software,
  allowed,
  change,
  stage,
});

/** What a job does to the world; the same again does no more. */
export const effectOf = (model: Model, job: AnyRolloutTask): Effect => {
  switch (job.type) {
    case 'CheckGates':
      return checkGates(model, job);
    case 'EmptyNode':
      return emptyNode(model, job);
    case 'ReleaseNode':
      return releaseNode(model, job);
    case 'ChangeNode':
      return setDesired(model, job.node, { software: job.software, allowed: true, change: job.change, stage: null });
    case 'StageNodes':
      return forEach(model, job.nodes, (before, name) => {
        const { software, allowed, change } = before.nodes[name]?.desired ?? {
          software: {},
          allowed: false,
          change: null,
        };
        return setDesired(before, name, { software, allowed, change, stage: job.stage });
      });
    case 'TakeSnapshot':
      return effect(
        { ...model, snapshots: model.snapshots + 1 },
        {
          type: 'EtcdSnapshotTaken',
          data: {
            ...idsOf(job),
            operation: job.operation,
            requestId: null,
            snapshot: `demo-${model.snapshots + 1}`,
            node: model.leader ?? cp(1),
            sha256: '9c1f'.repeat(16),
            bytes: 20_480_000,
            revision: 4_711,
            keys: 1_290,
            dataRef: null,
          },
        },
      );
    case 'MarkWorkers':
      return effect(
        { ...model, marked: [...job.nodes] },
        { type: 'NodesMarked', data: { ...idsOf(job), operation: job.operation, nodes: [...job.nodes] } },
      );
    case 'UnmarkWorkers':
      return effect(
        { ...model, marked: model.marked.filter((name) => !job.nodes.includes(name)) },
        { type: 'NodesUnmarked', data: { ...idsOf(job), nodes: [...job.nodes] } },
      );
    case 'BeginProbes':
      return forEach(model, job.nodes, (before, name) => withProbes(before, name, job.probes));
    case 'EndProbes':
      return forEach(model, job.nodes, (before, name) => withProbes(before, name, []));
    case 'UpgradeAddons':
      return effect(
        { ...model, proxy: job.kubernetes?.slice(1) ?? model.proxy },
        {
          type: 'AddonsUpgraded',
          data: { ...idsOf(job), operation: job.operation, addons: { 'kube-proxy': job.kubernetes ?? 'as it was' } },
        },
      );
    case 'CallHook': // Asked by the simulation, which has the answers.
    case 'CheckUpgrade':
      return nothing(model);
  }
};

/** What the agent of a node does next, and what it says then; undefined: nothing. */
export interface AgentStep {
  readonly name: string;
  readonly seconds: number;
  readonly act: (model: Model) => { readonly model: Model; readonly facts: readonly Fact[] };
}

const said = (node: ModelNode) => ({ uid: UID, node: node.name, revision: node.desired.revision });

const quiet = (
  name: string,
  seconds: number,
  change: (node: ModelNode, model: Model) => Partial<ModelNode>,
  of: NodeName,
): AgentStep => ({
  name,
  seconds,
  act: (model) => {
    const node = model.nodes[of]!;
    return { model: changeNode(model, of, { ...change(node, model), step: node.step + 1 }), facts: [] };
  },
});

const withHarm = (step: AgentStep, harmOf: (model: Model) => string | undefined): AgentStep => ({
  ...step,
  act: (model) => {
    const harm = harmOf(model);
    const acted = step.act(model);
    return harm === undefined ? acted : { ...acted, model: { ...acted.model, harm: [...acted.model.harm, harm] } };
  },
});

const kubeadmSteps = (node: ModelNode, change: NodeChange): readonly AgentStep[] => {
  const version = change.kubernetes?.slice(1);
  if (node.components === null || version === undefined || change.kubeadm === null) return [];
  const of = node.name;
  const parts = (name: string, seconds: number, part: Partial<NonNullable<ModelNode['components']>>) =>
    quiet(name, seconds, (one) => ({ memberHealthy: true, components: { ...one.components!, ...part } }), of);
  const down = quiet('etcd restarts', 8, () => ({ memberHealthy: false }), of);
  return [
    withHarm(down, (model) =>
      model.leader === of && othersAlive(model, of) ? `${of} was touched while it led etcd` : undefined,
    ),
    {
      ...parts('API server', 40, { api: version, emulates: change.emulatedVersion }),
      act: (model) => {
        const acted = parts('API server', 40, { api: version, emulates: change.emulatedVersion }).act(model);
        const what = change.emulatedVersion === null ? version : `${version} as ${change.emulatedVersion}`;
        const applied: Model['applied'] =
          change.kubeadm === 'apply' ? [...acted.model.applied, [what, of] as const] : acted.model.applied;
        return { ...acted, model: { ...acted.model, applied } };
      },
    },
    parts('controller manager', 15, { controllers: version }),
    parts('scheduler', 13, { scheduler: version }),
  ];
};

const othersAlive = (model: Model, of: NodeName): boolean =>
  nodesOf(model).some(({ name, role }) => role === 'control-plane' && name !== of);

/** The whole change on a node, in order. */
const changeSteps = (node: ModelNode, change: NodeChange): readonly AgentStep[] => {
  const of = node.name;
  const { software } = node.desired;
  const notReady: AgentStep = {
    name: 'announce',
    seconds: 0.5,
    act: (model) => ({
      model: changeNode(model, of, { ready: false, step: model.nodes[of]!.step + 1 }),
      facts: [
        {
          type: 'NodeNotReady',
          data: { ...said(model.nodes[of]!), reason: 'SoftwareChange', message: 'software changes' },
        },
      ],
    }),
  };
  const ready: AgentStep = {
    name: 'Ready',
    seconds: 3,
    act: (model) => {
      const now = model.nodes[of]!;
      return {
        model: changeNode(model, of, { ready: true, step: 1, changesDone: [...now.changesDone, change.id] }),
        facts: [{ type: 'NodeReady', data: { ...said(now), software: now.software } }],
      };
    },
  };
  return [
    notReady,
    ...kubeadmSteps(node, change),
    quiet('packages', 6, () => ({ software }), of),
    ...(change.renewCertificates ? [quiet('certificates', 40, (one) => ({ renewals: one.renewals + 1 }), of)] : []),
    ...(change.reboot ? [quiet('boot', 25, (one) => ({ boots: one.boots + 1 }), of)] : []),
    ready,
  ];
};

const stageStep = (node: ModelNode): AgentStep | undefined => {
  const { stage } = node.desired;
  if (stage === null || node.stagesDone.includes(stage.id)) return undefined;
  return {
    name: 'stage',
    seconds: 12,
    act: (model) => {
      const now = model.nodes[node.name]!;
      return {
        model: changeNode(model, node.name, { stagesDone: [...now.stagesDone, stage.id] }),
        facts: [
          {
            type: 'NodeChangeProgressed',
            data: {
              ...said(now),
              change: stage.id,
              phase: 'stage',
              status: 'done',
              attempt: 1,
              tookMs: 12_000,
              command: null,
              message: null,
            },
          },
        ],
      };
    },
  };
};

export const agentStep = (model: Model, name: string): AgentStep | undefined => {
  const node = model.nodes[name];
  if (node === undefined) return undefined;
  const stage = stageStep(node);
  if (stage !== undefined) return stage;
  const { change, allowed } = node.desired;
  if (change === null || !allowed) return undefined;
  if (!node.changesDone.includes(change.id)) return changeSteps(node, change)[node.step];
  // Done before, under an earlier revision: it only says so again.
  return node.step === 0 ? sayReady(node) : undefined;
};

const sayReady = (node: ModelNode): AgentStep => ({
  name: 'Ready',
  seconds: 1,
  act: (model) => {
    const now = model.nodes[node.name]!;
    return {
      model: changeNode(model, node.name, { ready: true, step: 1 }),
      facts: [{ type: 'NodeReady', data: { ...said(now), software: now.software } }],
    };
  },
});

/** infra-svc and bootstrap-svc read what the rollout states of surge nodes. */
export const heard = (model: Model, fact: Fact): Model => {
  const { surge } = model;
  switch (fact.type) {
    case 'SurgeRequested': {
      const { upgradeId, pool, count: desired } = fact.data;
      return { ...model, surge: { ...surge, upgradeId, pool, desired } };
    }
    case 'SurgeReleased':
    case 'SurgeFailed': {
      const machines = surge.machines.map((machine) => ({ ...machine, leaving: true }));
      return { ...model, surge: { ...surge, desired: 0, machines } };
    }
    default:
      return model;
  }
};

type SurgeMachine = Surge['machines'][number];

const withExtra = (model: Model, { name }: SurgeMachine, change: Partial<SurgeMachine> | null): Model => {
  const machines = model.surge.machines.flatMap((machine) =>
    machine.name === name ? (change === null ? [] : [{ ...machine, ...change }]) : [machine],
  );
  return { ...model, surge: { ...model.surge, machines } };
};

const extraMachine = ({ surge }: Model, { name }: SurgeMachine): Machine => ({
  ...machineOf(name),
  pool: surge.pool,
  ...(surge.upgradeId === null ? {} : { surge: surge.upgradeId }),
});

const stepNotDone = (step: string, { name }: SurgeMachine, message: string): Fact => ({
  type: 'BootstrapStepFailed',
  data: {
    uid: UID,
    step,
    node: name,
    cause: { operation: step, target: name, message },
    attempt: 5,
    attemptsMax: 5,
    nextAttemptAt: null,
  },
});

type Act = AgentStep['act'];

/** bootstrap-svc waits for no further machine. */
const READY: Fact = { type: 'ClusterReady', data: { uid: UID } };

/** It joins at the version of the control planes, which are at the target by then. */
const joins =
  (extra: SurgeMachine): Act =>
  (model) => {
    if (model.surge.unfit) {
      const given = { ...model, surge: { ...model.surge, desired: model.surge.desired - 1, unfit: false } };
      return {
        model: withExtra(given, extra, { leaving: true }),
        facts: [stepNotDone('JoinWorker', extra, 'it has no route to the API'), READY],
      };
    }
    const node = modelNode(extra.name, 'worker', model.surge.pool, model.proxy);
    const { revision, software } = node.desired;
    const at = { uid: UID, node: extra.name, revision, software };
    return {
      model: withExtra({ ...model, nodes: { ...model.nodes, [extra.name]: node } }, extra, { stage: 'node' }),
      facts: [
        { type: 'DesiredVersionsSet', data: { ...at, changesAllowed: false } },
        { type: 'NodeReady', data: at },
        READY,
      ],
    };
  };

const leaves =
  (extra: SurgeMachine): Act =>
  (model) => {
    // It stays as it is until someone gives it back again.
    if (model.surge.stays > 0) {
      const stuck = withExtra(model, extra, { leaving: false });
      return {
        model: { ...stuck, surge: { ...stuck.surge, stays: stuck.surge.stays - 1 } },
        facts: [stepNotDone('RemoveNode', extra, 'the API server does not answer')],
      };
    }
    const { [extra.name]: _gone, ...nodes } = model.nodes;
    return {
      model: withExtra({ ...model, nodes }, extra, { stage: 'removed' }),
      facts: [
        { type: 'NodeRemoved', data: { uid: UID, node: extra.name } },
        ...(extra.stage === 'running' ? [READY] : []),
      ],
    };
  };

const deleted =
  (extra: SurgeMachine): Act =>
  (model) => ({
    model: withExtra(model, extra, null),
    facts: [{ type: 'VmDeleted', data: { uid: UID, name: extra.name } }],
  });

const created =
  (extra: SurgeMachine): Act =>
  (model) => ({
    model: withExtra(model, extra, { stage: 'running' }),
    facts: [{ type: 'VmsCreated', data: { uid: UID, machines: [extraMachine(model, extra)] } }],
  });

const stepOfExtra = (extra: SurgeMachine): AgentStep => {
  const { name, stage, leaving } = extra;
  switch (stage) {
    case 'planned':
      return leaving
        ? { name: `${name} is deleted`, seconds: 2, act: deleted(extra) }
        : { name: `${name} is made`, seconds: 10, act: created(extra) };
    case 'running':
    case 'node':
      if (leaving) return { name: `${name} leaves`, seconds: 15, act: leaves(extra) };
      return { name: `${name} joins`, seconds: 30, act: joins(extra) };
    case 'removed':
      return { name: `${name} is deleted`, seconds: 2, act: deleted(extra) };
  }
};

const planned: Act = (model) => {
  const { surge } = model;
  const cause = { operation: 'create machines', target: surge.pool, message: 'no host is free' };
  const ref = { uid: UID, upgradeId: surge.upgradeId as UpgradeId, pool: surge.pool };
  if (surge.stock === 0) return { model, facts: [{ type: 'SurgeFailed', data: { ...ref, cause } }] };
  const workers = nodesOf(model).filter(({ role, name }) => role === 'worker' && !isExtra(model, name)).length;
  const name = w(workers + surge.ever + 1);
  const machines = [...surge.machines, { name, stage: 'planned' as const, leaving: false }];
  return {
    model: { ...model, surge: { ...surge, ever: surge.ever + 1, stock: surge.stock - 1, machines } },
    facts: [
      { type: 'VmsPlanned', data: { uid: UID, machines: [{ ...planOf(name), pool: ref.pool, surge: ref.upgradeId }] } },
    ],
  };
};

const isExtra = ({ surge }: Model, name: string): boolean => surge.machines.some((machine) => machine.name === name);

/** What infra-svc and bootstrap-svc may do next about surge machines. A machine that is a node and stays needs nothing. */
export const surgeSteps = (model: Model): readonly AgentStep[] => {
  const { machines, desired } = model.surge;
  const staying = machines.filter(({ leaving }) => !leaving);
  return [
    ...(staying.length < desired ? [{ name: 'surge machines are planned', seconds: 1, act: planned }] : []),
    ...machines.filter(({ stage, leaving }) => leaving || stage !== 'node').map(stepOfExtra),
  ];
};

const majority = (n: number): number => Math.floor(n / 2) + 1;

/** G5: a worker runs nothing that an API server does not behave as yet. */
const aheadOfEmulation = (model: Model): readonly string[] => {
  const emulated = nodesOf(model).flatMap(({ components }) => components?.emulates ?? []);
  return nodesOf(model)
    .filter(
      ({ role, software }) =>
        role === 'worker' && emulated.some((as) => minorsAhead(as, software['kubelet'] ?? as) > 0),
    )
    .map(({ name }) => `G5: ${name} is ahead of an API server that behaves as ${emulated.join()}`);
};

/** What must never be, in any state. `atOnce`: how many fewer workers than requested may be there. */
export const violations = (model: Model, atOnce: number): readonly string[] => {
  const nodes = nodesOf(model);
  const controlPlanes = nodes.filter(({ role }) => role === 'control-plane');
  const alive = controlPlanes.filter(({ memberHealthy }) => memberHealthy).length;
  const workers = nodes.filter(({ role }) => role === 'worker');
  const away = workers.filter(({ cordoned, ready }) => cordoned || !ready);
  const requested = workers.filter(({ name }) => !isExtra(model, name)).length;
  const there = workers.length - away.length;
  const awayControlPlanes = controlPlanes.filter(({ cordoned, ready }) => cordoned || !ready);
  const versions = new Set(model.applied.map(([version]) => version));
  return [
    ...skewFindings(versionsOf(model)).map(({ rule, sentence }) => `${rule}: ${sentence}`),
    ...(controlPlanes.length > 1 && alive < majority(controlPlanes.length)
      ? [`quorum: ${alive} members are alive`]
      : []),
    ...(there < requested - atOnce ? [`budget: ${away.map(({ name }) => name).join(', ')} are away`] : []),
    ...(awayControlPlanes.length > 1 ? ['two control planes are away'] : []),
    ...(versions.size < new Set(model.applied.map(([version, node]) => `${version}/${node}`)).size
      ? ['kubeadm upgrade apply ran on two nodes']
      : []),
    ...aheadOfEmulation(model),
    ...model.harm,
  ];
};
