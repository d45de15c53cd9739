import { isHeld, lastAnswerAt, needsSnapshot, type Moment } from '@fairlead/domain';
import type { GateName, GateStage, NodeChange, NodeName, PlanOperation, SoftwareVersions } from '@fairlead/contracts';
import { isOfKubernetes, strategyOf } from '../plan/plan.request.js';
import { versionOfReplacement } from '../plan/replacement.planner.js';
import { c9AddonsGate } from '../rules/addons.rules.js';
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
import { isAfterReplacement, nodesToReplace, replacementPhase } from './replacement.phase.js';
import { surgeToDrain, surgePhase } from './surge.planner.js';
import {
  drainOf,
  hasEnded,
  isOverridden,
  touchedNodes,
  type OperationProgress,
  type RolloutNode,
  type Upgrade,
} from './rollout.state.js';
import type { TrackedOperation } from './rollout.view.js';

/** The phase of an operation: what it waits for, or the fact that follows next. Derived from its facts alone. */
export type Phase =
  | 'idle'
  | 'skip'
  | 'fail'
  | 'quarantine'
  | 'hook'
  | 'gates-before'
  | 'postpone'
  | 'save-etcd'
  | 'allow'
  | 'empty'
  | 'change'
  | 'agent'
  | 'gates-after'
  | 'leave-failed'
  | 'settle'
  | 'settling'
  | 'let-go'
  | 'release'
  | 'effect'
  | 'request-surge'
  | 'release-surge'
  | 'surge-failed'
  | 'nodes'
  | 'replacing'
  | 'gates-finish'
  | 'complete';

const MINUTE_MS = 60_000;
/** kOps waits 15 minutes for a cluster to become healthy before it continues. */
const GATES_BEFORE_MS = 15 * MINUTE_MS;
const GATES_AFTER_MS = 10 * MINUTE_MS;
/** kube-proxy's DaemonSet is updated node by node (maxUnavailable 1). */
const NODE_ROLL_OUT_MS = 15_000;
/** A user-defined gate may wait for people. */
const USER_GATES_MS = 24 * 60 * MINUTE_MS;

const beforeGates = ({ operation, state, rollout }: TrackedOperation): readonly GateName[] => {
  if (state.rollingBack) return ['api-answers'];
  const { upgrade } = rollout;
  const user = isOverridden(upgrade, 'D7') ? [] : d7UserGates(upgrade.request.strategy.gates);
  if (operation.kind === 'control-plane') return [...c1GatesBefore, ...user];
  return [...(operation.canary ? (['api-answers', 'cluster-healthy'] as const) : (['api-answers'] as const)), ...user];
};

/** kubeadm upgrades CoreDNS and kube-proxy with the last control plane of the pass. */
const bringsAddons = (tracked: TrackedOperation): boolean =>
  tracked.operation.change?.kubernetes !== null &&
  passOf(tracked).every((other) => other.operation.id === tracked.operation.id || hasEnded(other));

const afterGates = (tracked: TrackedOperation): readonly GateName[] => {
  const { operation } = tracked;
  if (operation.kind !== 'control-plane') return d4GatesAfter;
  if (operation.change?.kubernetes === null) return c5GatesAfter.filter((gate) => gate !== 'static-pods');
  return bringsAddons(tracked) ? [...c5GatesAfter, ...c9AddonGates] : c5GatesAfter;
};

const finishGates = ({ operation, rollout }: TrackedOperation): readonly GateName[] => [
  ...(operation.to['kubernetes'] === undefined ? c9GatesFinish.filter((gate) => gate !== 'kube-proxy') : c9GatesFinish),
  ...c9AddonsGate(Object.values(rollout.cluster.addons ?? {})),
];

/** The gates of an operation at a stage, in order. */
export const gatesOf = (tracked: TrackedOperation, stage: GateStage): readonly GateName[] => {
  if (stage === 'before') return beforeGates(tracked);
  return stage === 'after' ? afterGates(tracked) : finishGates(tracked);
};

const missing = (tracked: TrackedOperation, stage: GateStage): readonly GateName[] =>
  gatesOf(tracked, stage).filter((gate) => !tracked.state.passed[stage].includes(gate));

/** Control plane operations that make the same change, one node after the other: one step, one pass. */
export const passOf = ({ operation, rollout }: TrackedOperation): readonly TrackedOperation[] => {
  const key = ({ kind, change }: PlanOperation): string =>
    [kind, change?.kubernetes, change?.kubeadm === null, change?.emulatedVersion].join('/');
  return rollout.operations.filter((other) => key(other.operation) === key(operation));
};

/** Timeout of the gates at a stage. */
export const gatesLimitMs = (tracked: TrackedOperation, stage: GateStage): number => {
  if (stage === 'before')
    return missing(tracked, stage).some((gate) => gate.startsWith('user:')) ? USER_GATES_MS : GATES_BEFORE_MS;
  const nodes = gatesOf(tracked, stage).includes('kube-proxy') ? Object.keys(tracked.rollout.cluster.nodes).length : 0;
  return GATES_AFTER_MS + nodes * NODE_ROLL_OUT_MS;
};

const hasBegun = ({ state }: OperationProgress): boolean => state.revision !== null || state.status === 'done';

/** C2: while other operations of the pass wait that were not postponed themselves. */
const isDeferred = (tracked: TrackedOperation): boolean => {
  const { operation, state, rollout } = tracked;
  if (operation.kind !== 'control-plane' || operation.node === null || state.postponed) return false;
  const left = passOf(tracked)
    .filter((other) => other.state.status === 'waiting')
    .map((other) => ({ node: other.operation.node, postponed: other.state.postponed }));
  return c2LeaderGivesWay(rollout.upgrade.leader, operation.node, left);
};

/** Every control plane of the cluster; those outside the pass count as done. */
const controlPlanesOf = (tracked: TrackedOperation) => {
  const pass = new Map(passOf(tracked).map(({ operation, state }) => [operation.node, state.status === 'done']));
  return Object.values(tracked.rollout.cluster.nodes)
    .filter(({ role, ready, lost }) => role === 'control-plane' && ready && !lost)
    .map(({ name }) => ({ name, done: pass.get(name) ?? true }));
};

/** The member that must become etcd leader before the node is changed; null: no transfer is needed. */
export const nextLeader = (tracked: TrackedOperation): NodeName | null => {
  const { operation, state, rollout } = tracked;
  return operation.kind !== 'control-plane' || operation.node === null || state.leaderMoved
    ? null
    : c2NextLeader(rollout.upgrade.leader, operation.node, controlPlanesOf(tracked));
};

/** An operator skips the node or aborts the rollout. */
const isGivenUp = ({ state, rollout }: TrackedOperation): boolean =>
  state.leaveOut !== null || rollout.upgrade.abortAsked !== null;

/** The change is no longer requested, and the node was not changed yet. */
const isUnwanted = (tracked: TrackedOperation): boolean => tracked.state.revision === null && isGivenUp(tracked);

const nodeOf = ({ operation, rollout }: TrackedOperation): RolloutNode | undefined =>
  operation.node === null ? undefined : rollout.cluster.nodes[operation.node];

/** The desired software of the node, with its reported versions in place of those of the operation. */
const softwareAsReported = (tracked: TrackedOperation): SoftwareVersions => {
  const { desired = null, software = {} } = nodeOf(tracked) ?? {};
  const { to } = tracked.operation;
  const all = { ...desired?.software, ...to };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, version]) => {
      const reported = name in to ? software[name] : version;
      return reported === undefined ? [] : [[name, reported]];
    }),
  );
};

const isSame = (one: SoftwareVersions, other: SoftwareVersions): boolean =>
  Object.keys({ ...one, ...other }).every((name) => one[name] === other[name]);

/**
 * A failed node that is given up: its current software becomes its desired software, so that its agent can report it as
 * Ready and it is uncordoned. A node that is not Ready stays cordoned.
 */
const givenUpPhase = (tracked: TrackedOperation): Phase => {
  const { state } = tracked;
  const node = nodeOf(tracked);
  if (node === undefined || node.desired === null || !state.touched || !isGivenUp(tracked)) return 'idle';
  if (!isSame(node.desired.software, softwareAsReported(tracked))) return 'settle';
  if (!node.ready || node.lost) return 'settling';
  return mayBeCordoned(tracked) ? 'let-go' : 'idle';
};

const drainEnd = ({ operation, state }: TrackedOperation): Phase | undefined => {
  const { timedOut, emptied } = drainOf(state, operation.node);
  if (timedOut === null || emptied || timedOut.policy === 'force') return undefined;
  // A control plane that is left out would keep API servers of two versions (E7).
  if (timedOut.policy === 'stop' || operation.role === 'control-plane') return 'fail';
  return state.withdrawn ? 'quarantine' : 'leave-failed';
};

/** The hook point before the node's drain; empty: the operation does not drain it, or rolls it back. */
export const momentOf = ({ operation, state }: OperationProgress): readonly Moment[] =>
  operation.node === null || !operation.drain || state.rollingBack
    ? []
    : [{ point: 'BeforeNodeDrain', node: operation.node, operation: operation.id }];

const isDrainHeld = (tracked: TrackedOperation): boolean =>
  momentOf(tracked).some((moment) => isHeld(tracked.rollout.cluster.hooks, moment));

/** When the hooks before its drain last answered; null: none. */
export const hooksAnsweredAt = (tracked: TrackedOperation): string | null =>
  momentOf(tracked)
    .flatMap((moment) => lastAnswerAt(tracked.rollout.cluster.hooks, moment) ?? [])
    .at(0) ?? null;

/** The agent is silent, so it cannot finish a change that the operator has given up. */
export const isSilent = (tracked: TrackedOperation): boolean => isGivenUp(tracked) && nodeOf(tracked)?.lost === true;

/** B4: a control plane changes only with a sufficiently recent snapshot of etcd. */
const awaitsSnapshot = ({ operation, state, rollout: { cluster } }: TrackedOperation): boolean =>
  operation.kind === 'control-plane' &&
  !state.effect &&
  needsSnapshot(cluster.saves, state.gatesPassedAt ?? state.startedAt ?? '');

const nodePhase = (tracked: TrackedOperation): Phase => {
  const { operation, state } = tracked;
  if (isUnwanted(tracked)) return state.allowed && !state.withdrawn ? 'release' : 'skip';
  const ended = drainEnd(tracked);
  if (ended !== undefined) return ended;
  if (!state.allowed && isDrainHeld(tracked)) return 'hook';
  if (!state.allowed && missing(tracked, 'before').length > 0) return 'gates-before';
  if (!state.allowed && isDeferred(tracked)) return 'postpone';
  if (!state.allowed && awaitsSnapshot(tracked)) return 'save-etcd';
  if (!state.allowed) return 'allow';
  const { emptied } = drainOf(state, operation.node);
  if (state.revision === null && !emptied && (operation.drain || nextLeader(tracked) !== null)) return 'empty';
  if (state.revision === null) return 'change';
  if (!state.nodeReady) return state.trouble !== null || isSilent(tracked) ? 'fail' : 'agent';
  if (missing(tracked, 'after').length > 0) return 'gates-after';
  return state.withdrawn ? 'complete' : 'release';
};

/** Nodes of the operation that still exist. */
export const presentNodes = ({ operation, rollout }: TrackedOperation): readonly NodeName[] =>
  operation.nodes.filter((name) => rollout.cluster.nodes[name] !== undefined);

const isControlPlane = ({ rollout }: TrackedOperation, node: NodeName): boolean =>
  rollout.cluster.nodes[node]?.role === 'control-plane';

/**
 * B9: images are written to the disks that etcd uses, so control planes stage one after the other and a majority of
 * etcd is not slowed down. Silent nodes and those that fail do not block the others.
 */
export const stagesNext = (tracked: TrackedOperation): NodeName | undefined => {
  const { state, rollout } = tracked;
  const left = presentNodes(tracked).filter((node) => isControlPlane(tracked, node) && !state.staged.includes(node));
  const isStuck = (node: NodeName): boolean =>
    state.unstaged[node] !== undefined || rollout.cluster.nodes[node]?.lost === true;
  return left.find((node) => !isStuck(node)) ?? left[0];
};

/** Nodes that lack packages or images, except control planes whose turn has not come. */
export const unstagedNodes = (tracked: TrackedOperation): readonly NodeName[] => {
  const { state } = tracked;
  const next = stagesNext(tracked);
  return presentNodes(tracked).filter(
    (node) =>
      !state.staged.includes(node) &&
      (!isControlPlane(tracked, node) || node === next || state.unstaged[node] !== undefined),
  );
};

const clusterPhase = (tracked: TrackedOperation): Phase => {
  const { operation, state, rollout } = tracked;
  if (rollout.upgrade.abortAsked !== null) return 'skip';
  switch (operation.kind) {
    case 'stage':
      return presentNodes(tracked).every((node) => state.staged.includes(node)) ? 'complete' : 'nodes';
    case 'book-surge':
    case 'return-surge':
      return surgePhase(tracked);
    case 'replace':
      return replacementPhase(tracked);
    case 'addons':
      if (!state.effect && operation.to['kubernetes'] !== undefined) return 'effect';
      return missing(tracked, 'finish').length > 0 ? 'gates-finish' : 'complete';
    case 'snapshot-etcd':
    case 'mark-workers':
      return state.effect ? 'complete' : 'effect';
    case 'control-plane':
    case 'worker':
      return 'idle';
  }
};

/** Derives the phase of an operation from its facts. */
export const phaseOf = (tracked: TrackedOperation): Phase => {
  const { operation, state } = tracked;
  if (state.status === 'failed' && state.allowed && !state.withdrawn) return 'leave-failed';
  if (state.status === 'failed' || state.status === 'quarantined') return givenUpPhase(tracked);
  if (state.status !== 'open') return 'idle';
  return operation.node === null ? clusterPhase(tracked) : nodePhase(tracked);
};

/** C4: the first node to start in its pass runs `kubeadm upgrade apply`; the order may differ from the plan. */
export const changeOf = (tracked: TrackedOperation): NodeChange => {
  const { operation, state } = tracked;
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
  const others = passOf(tracked).filter((other) => other.operation.id !== operation.id);
  return { ...change, kubeadm: c4KubeadmCommand(others.some(hasBegun)) };
};

/** The desired software of the node after the operation. */
export const softwareAfter = ({ operation, state, rollout }: TrackedOperation): SoftwareVersions => {
  const desired = operation.node === null ? undefined : rollout.cluster.nodes[operation.node]?.desired?.software;
  return { ...desired, ...packagesOf(operation, state.rollingBack) };
};

const baseOf = ({ operation, rollout: { cluster, upgrade } }: TrackedOperation) => ({
  uid: cluster.uid,
  upgradeId: upgrade.id,
  run: upgrade.run,
  operation: operation.id,
});

/** Nodes that were not Ready when the plan was made, for which an operator overrode the rule (B2). */
const overriddenNodes = ({ plan }: Upgrade): readonly NodeName[] =>
  (plan?.findings ?? []).flatMap(({ rule, facts }) =>
    rule === 'B2' && Array.isArray(facts['nodes']) ? (facts['nodes'] as NodeName[]) : [],
  );

const gatesTask = (tracked: TrackedOperation, stage: GateStage): AnyRolloutTask => {
  const { upgrade } = tracked.rollout;
  const gates = missing(tracked, stage);
  return {
    ...baseOf(tracked),
    ...(tracked.operation.node === null ? {} : { node: tracked.operation.node }),
    type: 'CheckGates',
    stage,
    gates,
    software: softwareAfter(tracked),
    excused: [
      ...new Set([...upgrade.request.strategy.excusedNodes, ...overriddenNodes(upgrade), ...touchedNodes(upgrade)]),
    ],
  };
};

/**
 * Cordoned by this plan; also if the process stopped between the cordon and its event, because the mark in Kubernetes
 * identifies the plan.
 */
const mayBeCordoned = ({ operation, state }: TrackedOperation): boolean =>
  !state.uncordoned && (drainOf(state, operation.node).cordon?.byPlan ?? operation.drain);

const givenUpTask = (tracked: TrackedOperation, node: NodeName, stage: 'settle' | 'let-go'): AnyRolloutTask => ({
  ...baseOf(tracked),
  node,
  type: 'ReleaseNode',
  stage,
  uncordon: stage === 'let-go',
  unmark: stage === 'let-go' && tracked.rollout.upgrade.marked.includes(node),
  leftFailed: stage === 'settle',
  software: softwareAsReported(tracked),
});

const releaseTask = (tracked: TrackedOperation, node: NodeName): AnyRolloutTask => {
  const { cluster, upgrade } = tracked.rollout;
  const leftFailed = phaseOf(tracked) === 'leave-failed';
  return {
    ...baseOf(tracked),
    node,
    type: 'ReleaseNode',
    uncordon: !leftFailed && mayBeCordoned(tracked),
    unmark: !leftFailed && upgrade.marked.includes(node),
    leftFailed,
    // Nothing was changed yet, so the desired software is unchanged.
    software: tracked.state.revision === null ? (cluster.nodes[node]?.desired?.software ?? {}) : softwareAfter(tracked),
  };
};

const nodeTask = (tracked: TrackedOperation, node: NodeName): AnyRolloutTask | null => {
  const base = { ...baseOf(tracked), node };
  const { operation, state, rollout } = tracked;
  switch (phaseOf(tracked)) {
    case 'gates-before':
      return gatesTask(tracked, 'before');
    case 'gates-after':
      return gatesTask(tracked, 'after');
    case 'save-etcd':
      return { ...base, type: 'TakeSnapshot' };
    case 'empty':
      return {
        ...base,
        type: 'EmptyNode',
        pool: strategyOf(rollout.upgrade.request.strategy, operation.pool ?? ''),
        drain: operation.drain,
        moveEtcdLeader: nextLeader(tracked),
        since: drainOf(state, node).cordon?.since ?? null,
      };
    case 'change':
      return {
        ...base,
        type: 'ChangeNode',
        software: softwareAfter(tracked),
        change: changeOf(tracked),
        rollback: state.rollingBack,
      };
    case 'release':
    case 'leave-failed':
      return releaseTask(tracked, node);
    case 'settle':
      return givenUpTask(tracked, node, 'settle');
    case 'let-go':
      return givenUpTask(tracked, node, 'let-go');
    case 'settling':
    case 'idle':
    case 'hook':
    case 'allow':
    case 'postpone':
    case 'skip':
    case 'fail':
    case 'quarantine':
    case 'agent':
    case 'complete':
    // For operations without a node:
    case 'effect':
    case 'nodes':
    case 'replacing':
    case 'gates-finish':
    case 'request-surge':
    case 'release-surge':
    case 'surge-failed':
      return null;
  }
};

/** Every request has an ID of its own, so that one that has failed is not taken for its retry. */
const replacementTask = (tracked: TrackedOperation): AnyRolloutTask | null => {
  const { operation, rollout } = tracked;
  const version = versionOfReplacement(operation);
  if (version === undefined) return null;
  return {
    ...baseOf(tracked),
    type: 'ReplaceNodes',
    requestId: `${rollout.upgrade.id}-${operation.id}-${rollout.upgrade.run}`,
    pool: operation.pool ?? '',
    nodes: nodesToReplace(tracked),
    version,
    software: Object.fromEntries(Object.entries(operation.to).filter(([name]) => !isOfKubernetes(name))),
  };
};

const effectTask = (tracked: TrackedOperation): AnyRolloutTask | null => {
  const base = baseOf(tracked);
  const { operation } = tracked;
  const nodes = presentNodes(tracked);
  switch (operation.kind) {
    case 'snapshot-etcd':
      return { ...base, type: 'TakeSnapshot' };
    case 'mark-workers':
      return { ...base, type: 'MarkWorkers', nodes };
    case 'addons':
      return {
        ...base,
        type: 'UpgradeAddons',
        kubernetes: operation.to['kubernetes'] ?? null,
        ...(isAfterReplacement(tracked) ? { install: true } : {}),
      };
    case 'replace':
      return replacementTask(tracked);
    case 'stage':
    case 'book-surge':
    case 'return-surge':
    case 'control-plane':
    case 'worker':
      return null;
  }
};

/** All workers at once, in parallel with one control plane at a time. */
const stageTasks = (tracked: TrackedOperation): readonly AnyRolloutTask[] => {
  const { operation, rollout } = tracked;
  const stage = { id: stageIdOf(rollout.upgrade, operation), software: operation.to };
  const staging = { ...baseOf(tracked), type: 'StageNodes', stage } as const;
  const workers = presentNodes(tracked).filter((node) => !isControlPlane(tracked, node));
  const controlPlane = stagesNext(tracked);
  return [
    ...(workers.length === 0 ? [] : [{ ...staging, nodes: workers }]),
    ...(controlPlane === undefined ? [] : [{ ...staging, node: controlPlane, nodes: [controlPlane] }]),
  ];
};

/** Surge nodes are drained all at once, so that no pod moves from one to another. */
const emptyExtra = (tracked: TrackedOperation): readonly AnyRolloutTask[] =>
  surgeToDrain(tracked).map((node) => ({
    ...baseOf(tracked),
    node,
    type: 'EmptyNode',
    pool: strategyOf(tracked.rollout.upgrade.request.strategy, tracked.operation.pool ?? ''),
    drain: true,
    moveEtcdLeader: null,
    since: drainOf(tracked.state, node).cordon?.since ?? null,
  }));

const listed = (task: AnyRolloutTask | null): readonly AnyRolloutTask[] => (task === null ? [] : [task]);

/** The tasks of an operation now; none: it waits for others, or for facts that follow next. */
export const tasksOf = (tracked: TrackedOperation): readonly AnyRolloutTask[] => {
  const { node, kind } = tracked.operation;
  if (node !== null) return listed(nodeTask(tracked, node));
  switch (phaseOf(tracked)) {
    case 'effect':
      return listed(effectTask(tracked));
    case 'nodes':
      return kind === 'stage' ? stageTasks(tracked) : [];
    case 'gates-finish':
      return [gatesTask(tracked, 'finish')];
    case 'empty':
      return emptyExtra(tracked);
    case 'idle':
    case 'skip':
    case 'fail':
    case 'request-surge':
    case 'release-surge':
    case 'surge-failed':
    case 'complete':
    case 'replacing':
    // For operations on a node:
    case 'hook':
    case 'save-etcd':
    case 'gates-before':
    case 'gates-after':
    case 'allow':
    case 'postpone':
    case 'change':
    case 'agent':
    case 'quarantine':
    case 'release':
    case 'leave-failed':
    case 'settle':
    case 'settling':
    case 'let-go':
      return [];
  }
};
