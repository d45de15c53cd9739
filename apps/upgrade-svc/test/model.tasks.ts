import type { EventData, Fact, NodeName, Probe } from '@fairlead/contracts';
import type { EffectFact } from '../src/rollout/rollout.commands.js';
import type { AnyRolloutTask, CheckGates, EmptyNode, ReleaseNode } from '../src/rollout/rollout.tasks.js';
import { c8QuorumWithout } from '../src/rules/control-plane.rules.js';
import { changeNode, cp, etcdOf, type Model, type ModelNode, nodesOf, UID } from './model.js';

/** The next change of a task, and the facts to record. `wait`: it cannot continue yet. */
export interface Effect {
  readonly model: Model;
  readonly facts: readonly EffectFact[];
  /** Written to the desired stream of the node together with the effect. */
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
    attempts: 0,
  });
  return { model: model2, facts: [], desired: [{ type: 'DesiredVersionsSet', data }] };
};

const healthy = (model: Model, but: readonly NodeName[]): boolean =>
  nodesOf(model).every(
    ({ name, ready, memberHealthy, role }) => but.includes(name) || (ready && (role === 'worker' || memberHealthy)),
  );

/** Why a gate does not hold; undefined: it holds. */
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

const checkGates = (model: Model, task: CheckGates): Effect => {
  const [gate] = task.gates;
  if (gate === undefined) return nothing(model);
  const data = {
    ...idsOf(task),
    operation: task.operation,
    stage: task.stage,
    gate,
    rule: 'C1',
    node: task.node ?? null,
  };
  const message = gateFails(model, gate, task);
  if (message !== undefined)
    return waits(model, message, { type: 'GateFailed', data: { ...data, facts: {}, message } });
  const facts = gate === 'etcd-leader' ? { leader: model.leader } : {};
  return effect(model, { type: 'GatePassed', data: { ...data, facts, waitedMs: 0 } });
};

/** One step at a time, so that a crash is possible after each. */
const emptyNode = (model: Model, task: EmptyNode): Effect => {
  const node = model.nodes[task.node];
  if (node === undefined) return nothing(model);
  const data = { ...idsOf(task), operation: task.operation, node: task.node };
  if (task.drain && task.since === null) {
    const byPlan = !node.cordoned || node.cordonedBy === task.upgradeId;
    const cordoned = changeNode(model, task.node, {
      cordoned: true,
      cordonedBy: byPlan ? task.upgradeId : node.cordonedBy,
    });
    return effect(cordoned, { type: 'NodeCordoned', data: { ...data, byPlan } });
  }
  if (task.moveEtcdLeader !== null) {
    const to = model.leader === task.node || model.leader === null ? task.moveEtcdLeader : model.leader;
    return effect({ ...model, leader: to }, { type: 'EtcdLeaderMoved', data: { ...data, to } });
  }
  const emptied = { ...data, evictedPods: task.drain ? 3 : 0, forcedPods: 0, tookMs: 0 };
  if (task.drain && model.kept.includes(task.node)) {
    const pods = [`shop/web-${task.node}`];
    const message = "Cannot evict pod as it would violate the pod's disruption budget.";
    return waits(model, message, { type: 'EvictionRefused', data: { ...data, budget: 'shop/web', pods, message } });
  }
  return effect(changeNode(model, task.node, { emptied: task.drain }), { type: 'NodeEmptied', data: emptied });
};

const releaseNode = (model: Model, task: ReleaseNode): Effect => {
  const node = model.nodes[task.node];
  if (node === undefined) return nothing(model);
  const data = { ...idsOf(task), operation: task.operation, node: task.node };
  if (task.uncordon) {
    const isOurs = node.cordonedBy === task.upgradeId;
    const after = isOurs ? changeNode(model, task.node, { cordoned: false, cordonedBy: null, emptied: false }) : model;
    return effect(after, { type: 'NodeUncordoned', data });
  }
  if (task.unmark)
    return effect(
      { ...model, marked: model.marked.filter((name) => name !== task.node) },
      { type: 'NodesUnmarked', data: { ...idsOf(task), nodes: [task.node] } },
    );
  const set = setDesired(model, task.node, { software: task.software, allowed: false, change: null, stage: null });
  return { ...set, facts: [{ type: 'UpgradeWithdrawn', data: { ...data, leftFailed: task.leftFailed } }] };
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

/** The effect of a task; repeating it changes nothing. */
export const effectOf = (model: Model, task: AnyRolloutTask): Effect => {
  switch (task.type) {
    case 'CheckGates':
      return checkGates(model, task);
    case 'EmptyNode':
      return emptyNode(model, task);
    case 'ReleaseNode':
      return releaseNode(model, task);
    case 'ChangeNode':
      return setDesired(model, task.node, { software: task.software, allowed: true, change: task.change, stage: null });
    case 'StageNodes':
      return forEach(model, task.nodes, (before, name) => {
        const { software, allowed, change } = before.nodes[name]?.desired ?? {
          software: {},
          allowed: false,
          change: null,
        };
        return setDesired(before, name, { software, allowed, change, stage: task.stage });
      });
    case 'TakeSnapshot':
      return effect(
        { ...model, snapshots: model.snapshots + 1 },
        {
          type: 'EtcdSnapshotTaken',
          data: {
            ...idsOf(task),
            operation: task.operation,
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
        { ...model, marked: [...task.nodes] },
        { type: 'NodesMarked', data: { ...idsOf(task), operation: task.operation, nodes: [...task.nodes] } },
      );
    case 'UnmarkWorkers':
      return effect(
        { ...model, marked: model.marked.filter((name) => !task.nodes.includes(name)) },
        { type: 'NodesUnmarked', data: { ...idsOf(task), nodes: [...task.nodes] } },
      );
    case 'BeginProbes':
      return forEach(model, task.nodes, (before, name) => withProbes(before, name, task.probes));
    case 'EndProbes':
      return forEach(model, task.nodes, (before, name) => withProbes(before, name, []));
    case 'UpgradeAddons':
      return effect(
        { ...model, proxy: task.kubernetes?.slice(1) ?? model.proxy },
        {
          type: 'AddonsUpgraded',
          data: { ...idsOf(task), operation: task.operation, addons: { 'kube-proxy': task.kubernetes ?? 'as it was' } },
        },
      );
    case 'ReplaceNodes': {
      const { operation, requestId, pool, nodes, version, software } = task;
      const data = { ...idsOf(task), operation, requestId, pool, nodes: [...nodes], version, software };
      return effect(model, { type: 'PoolReplacementRequested', data });
    }
    case 'CallHook': // Called by the simulation, which has the answers.
    case 'CheckUpgrade':
      return nothing(model);
  }
};
