import type { GateName, GateStage, NodeChange, NodeName, PlanOperation, SoftwareVersions } from '@fairlead/contracts';
import { strategyOf } from '../plan/plan.request.js';
import {
  c1GatesBefore,
  c2LeaderGivesWay,
  c2NextLeader,
  c4KubeadmCommand,
  c5GatesAfter,
  c9AddonGates,
  c9GatesFinish,
} from '../rules/control-plane.rules.js';
import { d4GatesAfter, d7UserGates } from '../rules/workers.rules.js';
import { changeIdOf, packagesOf, stageIdOf } from './operation.evolve.js';
import type { AnyRolloutTask } from './rollout.tasks.js';
import { extraToEmpty, surgePhase } from './surge.planner.js';
import {
  drainOf,
  hasEnded,
  touchedNodes,
  trackedOf,
  type ClusterState,
  type Tracked,
  type Upgrade,
} from './rollout.state.js';

/** Where an operation stands: what it waits for, or what is said next. Follows from its facts alone. */
export type Phase =
  | 'rest'
  | 'leave'
  | 'give-up'
  | 'quarantine'
  | 'gates-before'
  | 'postpone'
  | 'allow'
  | 'empty'
  | 'change'
  | 'agent'
  | 'gates-after'
  | 'leave-failed'
  | 'release'
  | 'effect'
  | 'book'
  | 'give-back'
  | 'surge-failed'
  | 'nodes'
  | 'gates-finish'
  | 'complete';

const MINUTE_MS = 60_000;
/** kOps gives a cluster 15 minutes to become healthy before it goes on. */
const GATES_BEFORE_MS = 15 * MINUTE_MS;
const GATES_AFTER_MS = 10 * MINUTE_MS;
/** kube-proxy's DaemonSet goes node by node (maxUnavailable 1). */
const NODE_ROLL_OUT_MS = 15_000;
/** A gate of the user's own may wait for people. */
const USER_GATES_MS = 24 * 60 * MINUTE_MS;

const beforeGates = (upgrade: Upgrade, { operation, state }: Tracked): readonly GateName[] => {
  if (state.rollingBack) return ['api-answers'];
  const user = d7UserGates(upgrade.request.strategy.gates);
  if (operation.kind === 'control-plane') return [...c1GatesBefore, ...user];
  return [...(operation.canary ? (['api-answers', 'cluster-healthy'] as const) : (['api-answers'] as const)), ...user];
};

/** kubeadm brings CoreDNS and kube-proxy with the control plane that is the last of its pass. */
const bringsAddons = (upgrade: Upgrade, { operation }: Tracked): boolean =>
  operation.change?.kubernetes !== null &&
  passOf(upgrade, operation).every((other) => other.operation.id === operation.id || hasEnded(other));

const afterGates = (upgrade: Upgrade, tracked: Tracked): readonly GateName[] => {
  const { operation } = tracked;
  if (operation.kind !== 'control-plane') return d4GatesAfter;
  if (operation.change?.kubernetes === null) return c5GatesAfter.filter((gate) => gate !== 'static-pods');
  return bringsAddons(upgrade, tracked) ? [...c5GatesAfter, ...c9AddonGates] : c5GatesAfter;
};

const finishGates = ({ operation }: Tracked): readonly GateName[] =>
  operation.to['kubernetes'] === undefined ? c9GatesFinish.filter((gate) => gate !== 'kube-proxy') : c9GatesFinish;

/** Which gates an operation has at a stage, in order. */
export const gatesOf = (upgrade: Upgrade, tracked: Tracked, stage: GateStage): readonly GateName[] => {
  if (stage === 'before') return beforeGates(upgrade, tracked);
  return stage === 'after' ? afterGates(upgrade, tracked) : finishGates(tracked);
};

const missing = (upgrade: Upgrade, tracked: Tracked, stage: GateStage): readonly GateName[] =>
  gatesOf(upgrade, tracked, stage).filter((gate) => !tracked.state.passed[stage].includes(gate));

/** Operations on control planes that do the same thing, one node after the other: one step, one pass. */
export const passOf = (upgrade: Upgrade, operation: PlanOperation): readonly Tracked[] => {
  const key = ({ kind, change }: PlanOperation): string =>
    [kind, change?.kubernetes, change?.kubeadm === null, change?.emulatedVersion].join('/');
  return trackedOf(upgrade).filter((other) => key(other.operation) === key(operation));
};

/** How long gates may not hold at a stage. */
export const gatesLimitMs = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked, stage: GateStage): number => {
  if (stage === 'before')
    return missing(upgrade, tracked, stage).some((gate) => gate.startsWith('user:')) ? USER_GATES_MS : GATES_BEFORE_MS;
  const nodes = gatesOf(upgrade, tracked, stage).includes('kube-proxy') ? Object.keys(cluster.nodes).length : 0;
  return GATES_AFTER_MS + nodes * NODE_ROLL_OUT_MS;
};

const hasBegun = ({ state }: Tracked): boolean => state.revision !== null || state.status === 'done';

/** C2: while others of the pass wait that have not given way themselves. */
const givesWay = (upgrade: Upgrade, { operation, state }: Tracked): boolean =>
  operation.kind === 'control-plane' &&
  operation.node !== null &&
  !state.postponed &&
  c2LeaderGivesWay(
    upgrade.leader,
    operation.node,
    passOf(upgrade, operation)
      .filter((other) => other.state.status === 'waiting')
      .map((other) => ({ node: other.operation.node, postponed: other.state.postponed })),
  );

const controlPlanesOf = (upgrade: Upgrade, operation: PlanOperation) =>
  passOf(upgrade, operation).flatMap((other) =>
    other.operation.node === null ? [] : [{ name: other.operation.node, done: other.state.status === 'done' }],
  );

/** Who must lead etcd before the node is touched; null: no one else need. */
export const nextLeader = (upgrade: Upgrade, { operation, state }: Tracked): NodeName | null =>
  operation.kind !== 'control-plane' || operation.node === null || state.leaderMoved
    ? null
    : c2NextLeader(upgrade.leader, operation.node, controlPlanesOf(upgrade, operation));

/** No one wants it done any more, and nothing of the node was changed yet. */
const isUnwanted = (upgrade: Upgrade, { state }: Tracked): boolean =>
  state.revision === null && (state.leaveOut !== null || upgrade.abortAsked !== null);

const drainEnd = ({ operation, state }: Tracked): Phase | undefined => {
  const { timedOut, emptied } = drainOf(state, operation.node);
  if (timedOut === null || emptied || timedOut.policy === 'force') return undefined;
  if (timedOut.policy === 'stop') return 'give-up';
  return state.withdrawn ? 'quarantine' : 'leave-failed';
};

const nodePhase = (upgrade: Upgrade, tracked: Tracked): Phase => {
  const { operation, state } = tracked;
  if (isUnwanted(upgrade, tracked)) return state.allowed && !state.withdrawn ? 'release' : 'leave';
  const ended = drainEnd(tracked);
  if (ended !== undefined) return ended;
  if (!state.allowed && missing(upgrade, tracked, 'before').length > 0) return 'gates-before';
  if (!state.allowed && givesWay(upgrade, tracked)) return 'postpone';
  if (!state.allowed) return 'allow';
  const { emptied } = drainOf(state, operation.node);
  if (state.revision === null && !emptied && (operation.drain || nextLeader(upgrade, tracked) !== null)) return 'empty';
  if (state.revision === null) return 'change';
  if (!state.nodeReady) return 'agent';
  if (missing(upgrade, tracked, 'after').length > 0) return 'gates-after';
  return state.withdrawn ? 'complete' : 'release';
};

/** Nodes of an operation that are still there. */
export const presentNodes = (cluster: ClusterState, operation: PlanOperation): readonly NodeName[] =>
  operation.nodes.filter((name) => cluster.nodes[name] !== undefined);

const clusterPhase = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked): Phase => {
  const { operation, state } = tracked;
  if (upgrade.abortAsked !== null) return 'leave';
  switch (operation.kind) {
    case 'stage':
      return presentNodes(cluster, operation).every((node) => state.staged.includes(node)) ? 'complete' : 'nodes';
    case 'book-surge':
    case 'return-surge':
      return surgePhase(cluster, upgrade, tracked);
    case 'addons':
      if (!state.effect && operation.to['kubernetes'] !== undefined) return 'effect';
      return missing(upgrade, tracked, 'finish').length > 0 ? 'gates-finish' : 'complete';
    case 'snapshot-etcd':
    case 'mark-workers':
      return state.effect ? 'complete' : 'effect';
    case 'control-plane':
    case 'worker':
      return 'rest';
  }
};

/** The phase of an operation, from its facts. */
export const phaseOf = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked): Phase => {
  const { operation, state } = tracked;
  if (state.status === 'failed') return state.allowed && !state.withdrawn ? 'leave-failed' : 'rest';
  if (state.status !== 'open') return 'rest';
  return operation.node === null ? clusterPhase(cluster, upgrade, tracked) : nodePhase(upgrade, tracked);
};

/** C4: whoever begins first in its pass applies; the plan's own order may have changed by then. */
export const changeOf = (upgrade: Upgrade, { operation, state }: Tracked): NodeChange => {
  const change = operation.change;
  const id = changeIdOf(operation, state.rollingBack);
  if (change === null || state.rollingBack)
    return {
      id,
      kubeadm: null,
      kubernetes: null,
      renewCertificates: false,
      reboot: false,
      balancedEndpoint: null,
      stopApiServerFirst: false,
      emulatedVersion: null,
    };
  if (operation.kind !== 'control-plane' || change.kubeadm === null) return change;
  const others = passOf(upgrade, operation).filter((other) => other.operation.id !== operation.id);
  return { ...change, kubeadm: c4KubeadmCommand(others.some(hasBegun)) };
};

/** What stays desired of the node, with what the operation changes of it. */
export const softwareAfter = (cluster: ClusterState, { operation, state }: Tracked): SoftwareVersions => {
  const desired = operation.node === null ? undefined : cluster.nodes[operation.node]?.desired?.software;
  return { ...desired, ...packagesOf(operation, state.rollingBack) };
};

const baseOf = ({ uid }: ClusterState, { id, run }: Upgrade, { operation }: Tracked) => ({
  uid,
  upgradeId: id,
  run,
  operation: operation.id,
});

/** Nodes that were sick when the plan was made, which someone took upon oneself (B2). */
const takenUpon = ({ plan }: Upgrade): readonly NodeName[] =>
  (plan?.findings ?? []).flatMap(({ rule, facts }) =>
    rule === 'B2' && Array.isArray(facts['nodes']) ? (facts['nodes'] as NodeName[]) : [],
  );

const gatesTask = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked, stage: GateStage): AnyRolloutTask => {
  const gates = missing(upgrade, tracked, stage);
  return {
    ...baseOf(cluster, upgrade, tracked),
    ...(tracked.operation.node === null ? {} : { node: tracked.operation.node }),
    type: 'CheckGates',
    stage,
    gates,
    software: softwareAfter(cluster, tracked),
    excused: [...new Set([...upgrade.request.strategy.excusedNodes, ...takenUpon(upgrade), ...touchedNodes(upgrade)])],
  };
};

/** By this plan; also where it died between the cordon and the word of it: Kubernetes knows whose mark it is. */
const mayBeCordoned = ({ operation, state }: Tracked): boolean =>
  !state.uncordoned && (drainOf(state, operation.node).cordon?.byPlan ?? operation.drain);

const releaseTask = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked, node: NodeName): AnyRolloutTask => {
  const leftFailed = phaseOf(cluster, upgrade, tracked) === 'leave-failed';
  return {
    ...baseOf(cluster, upgrade, tracked),
    node,
    type: 'ReleaseNode',
    uncordon: !leftFailed && mayBeCordoned(tracked),
    unmark: !leftFailed && upgrade.marked.includes(node),
    leftFailed,
    // Nothing was changed yet: what is desired stays as it was.
    software:
      tracked.state.revision === null
        ? (cluster.nodes[node]?.desired?.software ?? {})
        : softwareAfter(cluster, tracked),
  };
};

const nodeTask = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked, node: NodeName): AnyRolloutTask | null => {
  const base = { ...baseOf(cluster, upgrade, tracked), node };
  const { operation, state } = tracked;
  switch (phaseOf(cluster, upgrade, tracked)) {
    case 'gates-before':
      return gatesTask(cluster, upgrade, tracked, 'before');
    case 'gates-after':
      return gatesTask(cluster, upgrade, tracked, 'after');
    case 'empty':
      return {
        ...base,
        type: 'EmptyNode',
        pool: strategyOf(upgrade.request.strategy, operation.pool ?? ''),
        drain: operation.drain,
        moveEtcdLeader: nextLeader(upgrade, tracked),
        since: drainOf(state, node).cordon?.since ?? null,
      };
    case 'change':
      return {
        ...base,
        type: 'ChangeNode',
        software: softwareAfter(cluster, tracked),
        change: changeOf(upgrade, tracked),
        rollback: state.rollingBack,
      };
    case 'release':
    case 'leave-failed':
      return releaseTask(cluster, upgrade, tracked, node);
    default:
      return null;
  }
};

const effectTask = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked): AnyRolloutTask | null => {
  const base = baseOf(cluster, upgrade, tracked);
  const { operation } = tracked;
  const nodes = presentNodes(cluster, operation);
  switch (operation.kind) {
    case 'stage':
      return {
        ...base,
        type: 'StageNodes',
        nodes,
        stage: { id: stageIdOf(upgrade, operation), software: operation.to },
      };
    case 'snapshot-etcd':
      return { ...base, type: 'TakeSnapshot' };
    case 'mark-workers':
      return { ...base, type: 'MarkWorkers', nodes };
    case 'addons':
      return { ...base, type: 'UpgradeAddons', kubernetes: operation.to['kubernetes'] ?? null };
    case 'book-surge':
    case 'return-surge':
    case 'control-plane':
    case 'worker':
      return null;
  }
};

/** Extra nodes are emptied all at once, so that no pod moves from one to the next. */
const emptyExtra = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked): readonly AnyRolloutTask[] =>
  extraToEmpty(cluster, upgrade, tracked).map((node) => ({
    ...baseOf(cluster, upgrade, tracked),
    node,
    type: 'EmptyNode',
    pool: strategyOf(upgrade.request.strategy, tracked.operation.pool ?? ''),
    drain: true,
    moveEtcdLeader: null,
    since: drainOf(tracked.state, node).cordon?.since ?? null,
  }));

const listed = (task: AnyRolloutTask | null): readonly AnyRolloutTask[] => (task === null ? [] : [task]);

/** What an operation asks of the world now; nothing: it waits for others, or for what we say next. */
export const tasksOf = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked): readonly AnyRolloutTask[] => {
  const { node, kind } = tracked.operation;
  if (node !== null) return listed(nodeTask(cluster, upgrade, tracked, node));
  switch (phaseOf(cluster, upgrade, tracked)) {
    case 'effect':
      return listed(effectTask(cluster, upgrade, tracked));
    case 'nodes':
      return kind === 'stage' ? listed(effectTask(cluster, upgrade, tracked)) : [];
    case 'gates-finish':
      return [gatesTask(cluster, upgrade, tracked, 'finish')];
    case 'empty':
      return emptyExtra(cluster, upgrade, tracked);
    default:
      return [];
  }
};
