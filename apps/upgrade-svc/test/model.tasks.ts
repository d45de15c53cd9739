import type { EventData, Fact, NodeName, Probe } from '@fairlead/contracts';
import type { EffectFact } from '../src/rollout/rollout.commands.js';
import type { AnyRolloutTask, CheckGates, EmptyNode, ReleaseNode } from '../src/rollout/rollout.tasks.js';
import { c8QuorumWithout } from '../src/rules/control-plane.rules.js';
import { changeNode, cp, etcdOf, type Model, type ModelNode, nodesOf, UID } from './model.js';

/** The next change of a job, and the facts to record. `wait`: it cannot continue yet. */
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

/** One step at a time, so that a crash is possible after each. */
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

/** The effect of a job; repeating it changes nothing. */
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
    case 'ReplaceNodes': {
      const { operation, requestId, pool, nodes, version, software } = job;
      const data = { ...idsOf(job), operation, requestId, pool, nodes: [...nodes], version, software };
      return effect(model, { type: 'PoolReplacementRequested', data });
    }
    case 'CallHook': // Called by the simulation, which has the answers.
    case 'CheckUpgrade':
      return nothing(model);
  }
};
