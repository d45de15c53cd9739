import {
  CHANGE_ATTEMPTS_MAX,
  fillTemplate,
  OPEN_UPGRADE_STATES,
  OPERATION_FAILURES,
  POSTPONE_REASONS,
  SKIP_REASONS,
  type Cause,
  type Fact,
  type Finding,
  type GateStage,
  type NodeName,
  type UpgradeId,
} from '@fairlead/contracts';
import { d7Window } from '@fairlead/domain';
import { hooksDueAt, isUpgradeHeld } from './hooks.planner.js';
import { heldBecause } from '../holds/holds.js';
import { later } from '@fairlead/event-sourcing';
import { finding } from '../rules/finding.js';
import { b1OneOperation } from '../rules/preflight.rules.js';
import { g3MayRollBack } from '../rules/rollback.rules.js';
import { REGRESSION_MS } from '../rules/stop.rules.js';
import { underWay } from './check.planner.js';
import { haltedFact, haltOf, regressedNodes } from './halts.planner.js';
import { gatesLimitMs, hooksAnsweredAt, isSilent, phaseOf, unstagedNodes, type Phase } from './operation.planner.js';
import type { RolloutFact } from './rollout.commands.js';
import {
  drainOf,
  hasEnded,
  hasFailed,
  isAway,
  waitsForChecks,
  isInFlight,
  isOpen,
  looksAgainAt,
  stepKeyOf,
  type ClusterState,
  type OperationState,
  type Pause,
  type Upgrade,
} from './rollout.state.js';
import { isAnyUnderWay } from './replacement.phase.js';
import { tasks } from './rollout.planner.js';
import { rolloutView, type RolloutView, type TrackedOperation } from './rollout.view.js';
import { skewBrokenBy, versionsNow } from './skew.guard.planner.js';
import {
  availableMoments,
  budgetSpent,
  currentBatch,
  holdback,
  mayReturn,
  soakEndsAt,
  startable,
} from './starts.planner.js';
import {
  releasedAgain,
  releasesAgainAt,
  surgeMissed,
  surgeReleased,
  surgeRequested,
  surgesReleased,
} from './surge.planner.js';

const MINUTE_MS = 60_000;
/** From the permission to NodeReady: kubeadm has a hard limit of 600 s, and may run three times. */
export const CHANGE_LIMIT_MS = 40 * MINUTE_MS;
/** A failed node that is given up is Ready within this time, or stays cordoned. */
export const SETTLE_LIMIT_MS = 3 * MINUTE_MS;
/** From the start of staging, or from the last node that finished; bounded by the download time of one node. */
export const STAGE_LIMIT_MS = 30 * MINUTE_MS;

const ids = ({ cluster, upgrade }: RolloutView) => ({ uid: cluster.uid, upgradeId: upgrade.id });

const gatesEndAt = (tracked: TrackedOperation, stage: GateStage, since: string | null): string | null =>
  since === null ? null : later(since, gatesLimitMs(tracked, stage));

/** The gate timeout starts after the hooks before the gates have succeeded. */
const gatesSince = (tracked: TrackedOperation): string | null => {
  const { startedAt } = tracked.state;
  const letGoAt = hooksAnsweredAt(tracked);
  return startedAt !== null && letGoAt !== null && letGoAt > startedAt ? letGoAt : startedAt;
};

const latest = (one: string | null, other: string | null): string => [one ?? '', other ?? ''].toSorted().at(-1) ?? '';

/**
 * When an operation has waited too long for gates, agents or machines; null: it waits for its own task, which has its
 * own timeout.
 */
export const deadlineOf = (tracked: TrackedOperation): string | null => {
  const { state } = tracked;
  switch (phaseOf(tracked)) {
    case 'agent':
      return state.changedAt === null ? null : later(state.changedAt, CHANGE_LIMIT_MS);
    case 'settling':
      return later(latest(state.endedAt, state.leaveOutAt ?? tracked.rollout.upgrade.abortAskedAt), SETTLE_LIMIT_MS);
    case 'nodes':
      return state.startedAt === null ? null : later(state.stagedAt ?? state.startedAt, STAGE_LIMIT_MS);
    case 'gates-before':
      return gatesEndAt(tracked, 'before', gatesSince(tracked));
    case 'gates-after':
      return gatesEndAt(tracked, 'after', state.readyAt);
    case 'gates-finish':
      return gatesEndAt(tracked, 'finish', state.effectAt);
    case 'hook':
    case 'empty':
    case 'change':
    case 'effect':
    case 'release':
    case 'leave-failed':
    case 'settle':
    case 'let-go':
    case 'idle':
    case 'allow':
    case 'postpone':
    case 'save-etcd':
    case 'skip':
    case 'fail':
    case 'quarantine':
    case 'request-surge':
    case 'release-surge':
    case 'surge-failed':
    case 'replacing':
    case 'complete':
      return null;
  }
};

/** `attempts`: the number of attempts so far. */
const failed = ({ operation, rollout }: TrackedOperation, cause: Cause, attempts = 1): RolloutFact => ({
  type: 'OperationFailed',
  data: {
    ...ids(rollout),
    operation: operation.id,
    node: operation.node,
    cause,
    attempt: attempts,
    attemptsMax: attempts,
    nextAttemptAt: null,
  },
});

/** Maximum number of nodes named in one message. */
const NODES_NAMED_MAX = 5;

/** B9: the nodes that could not stage their packages and images, each with its error. */
const unstagedCause = (tracked: TrackedOperation): Cause => {
  const { state } = tracked;
  const missing = unstagedNodes(tracked);
  const words = missing.slice(0, NODES_NAMED_MAX).map((node) => {
    const said = state.unstaged[node];
    return said === undefined
      ? fillTemplate(OPERATION_FAILURES['not-reported'].sentence, { node })
      : `${node}: ${said}`;
  });
  const others = missing.length > words.length ? [`and ${missing.length - words.length} more`] : [];
  return {
    operation: 'stage packages and images on every node (B9)',
    target: missing.join(', '),
    message: fillTemplate(OPERATION_FAILURES.unstaged.sentence, { nodes: [...words, ...others].join('; ') }),
  };
};

/** A gate has its own message. */
const overdueIn = (tracked: TrackedOperation): Cause => {
  if (tracked.operation.kind === 'stage') return unstagedCause(tracked);
  const { failing } = tracked.state;
  if (failing === null || !phaseOf(tracked).startsWith('gates-')) return overdue(tracked);
  const target = tracked.operation.node ?? tracked.operation.id;
  return { operation: `gate ${failing.gate}`, target, message: failing.message };
};

/** Includes the last error of the agent, or its silence: the timeout alone is not a cause. */
const overdue = ({ operation, state, rollout }: TrackedOperation): Cause => {
  const minutes = (operation.node === null ? STAGE_LIMIT_MS : CHANGE_LIMIT_MS) / MINUTE_MS;
  const late = fillTemplate(OPERATION_FAILURES.overdue.sentence, { minutes });
  const isLost = operation.node !== null && rollout.cluster.nodes[operation.node]?.lost === true;
  const why = isLost ? OPERATION_FAILURES.silent.sentence : state.problem?.message;
  return {
    operation: (isLost ? undefined : state.problem?.operation) ?? (operation.node === null ? operation.kind : CHANGE),
    target: operation.node ?? operation.id,
    message: why === undefined ? late : `${late}: ${why}`.slice(0, CAUSE_LENGTH_MAX),
  };
};

const CHANGE = 'change the node';
const CAUSE_LENGTH_MAX = 4_000;

const silent = ({ operation }: TrackedOperation): Cause => ({
  operation: CHANGE,
  target: operation.node ?? operation.id,
  message: OPERATION_FAILURES.silent.sentence,
});

/** D5: the pods that could not be evicted in time, with the last reasons for the refusal. */
const stillHolding = ({ state }: TrackedOperation): Cause => {
  const late = Object.entries(state.drains).filter(([, { timedOut, emptied }]) => timedOut !== null && !emptied);
  const pods = late.flatMap(([, { timedOut }]) => timedOut?.pods ?? []);
  const words = new Set(late.flatMap(([, drain]) => drain.words ?? []));
  const refusals = [...words].map((one) => `; the last refusal: ${one}`).join('');
  const holding = fillTemplate(OPERATION_FAILURES['not-drained'].sentence, { pods });
  return {
    operation: 'drain the node',
    target: late.map(([node]) => node).join(', '),
    message: `${holding}${refusals}`.slice(0, CAUSE_LENGTH_MAX),
  };
};

/** Why an operation fails before its timeout: its agent has given up or is silent, or pods were not evicted in time. */
const givenUpBecause = (tracked: TrackedOperation): Cause =>
  tracked.state.trouble ?? (isSilent(tracked) ? silent(tracked) : stillHolding(tracked));

const attemptsOf = ({ operation, state }: TrackedOperation): number =>
  operation.node === null || state.trouble === null ? 1 : CHANGE_ATTEMPTS_MAX;

const completed = ({ operation, state, rollout }: TrackedOperation, now: string): RolloutFact => {
  const tookMs = Math.max(0, Date.parse(now) - Date.parse(state.startedAt ?? now));
  return {
    type: 'OperationCompleted',
    data: { ...ids(rollout), operation: operation.id, node: operation.node, tookMs },
  };
};

const skipped = ({ operation, rollout }: TrackedOperation, reason: string): readonly RolloutFact[] =>
  operation.node === null ? [] : [{ type: 'NodeSkipped', data: { ...ids(rollout), node: operation.node, reason } }];

const quarantined = ({ operation: { node }, state, rollout }: TrackedOperation): readonly RolloutFact[] => {
  const pods = [...(drainOf(state, node).timedOut?.pods ?? [])];
  return node === null ? [] : [{ type: 'NodeQuarantined', data: { ...ids(rollout), node, pods } }];
};

/** Facts that follow from the phase of an operation; none while it waits for a task, an agent or its permission. */
const statedInPhase = (tracked: TrackedOperation, now: string): readonly RolloutFact[] => {
  const { operation, state, rollout } = tracked;
  switch (phaseOf(tracked)) {
    case 'complete':
      return operation.node !== null && state.rollingBack
        ? skipped(tracked, SKIP_REASONS['rolled-back'].sentence)
        : [completed(tracked, now)];
    case 'skip':
      return skipped(tracked, state.leaveOut ?? rollout.upgrade.abortAsked ?? 'left out');
    case 'request-surge':
      return [surgeRequested(tracked)];
    case 'release-surge':
      return [surgeReleased(tracked)];
    case 'surge-failed': {
      const cause = state.trouble ?? overdue(tracked);
      return surgeMissed(tracked, { cause, otherwise: failed(tracked, cause) });
    }
    case 'fail':
      return [failed(tracked, givenUpBecause(tracked), attemptsOf(tracked))];
    case 'quarantine':
      return quarantined(tracked);
    case 'idle':
    case 'allow':
    case 'postpone':
    case 'save-etcd':
    case 'hook':
    case 'gates-before':
    case 'gates-after':
    case 'gates-finish':
    case 'empty':
    case 'change':
    case 'agent':
    case 'effect':
    case 'nodes':
    case 'replacing':
    case 'release':
    case 'leave-failed':
    case 'settle':
    case 'settling':
    case 'let-go':
      return [];
  }
};

/** A failed node that its operator gives up is released: it is uncordoned, or is not Ready and stays cordoned. */
const isLetGo = (tracked: TrackedOperation, now: string): boolean => {
  const phase = phaseOf(tracked);
  return phase === 'idle' || (phase === 'settling' && (deadlineOf(tracked) ?? now) <= now);
};

/** Nodes that no longer need the change: held or removed since, or skipped on request. */
const leftOut = (tracked: TrackedOperation, now: string): readonly RolloutFact[] => {
  const { operation, state, rollout } = tracked;
  const isOver = hasEnded(tracked) && (state.status !== 'quarantined' || state.leaveOut === null);
  if (operation.node === null || isOver) return [];
  const node = rollout.cluster.nodes[operation.node];
  if (node === undefined) return skipped(tracked, SKIP_REASONS.gone.sentence);
  if (state.status === 'failed' || state.status === 'quarantined')
    return state.leaveOut !== null && isLetGo(tracked, now) ? skipped(tracked, state.leaveOut) : [];
  if (state.status !== 'waiting' || state.rollingBack || operation.kind !== 'worker') return [];
  const held = heldBecause(rollout.cluster.holds, node);
  const reason =
    state.leaveOut ?? (held === undefined ? undefined : fillTemplate(SKIP_REASONS.held.sentence, { reason: held }));
  return reason === undefined ? [] : skipped(tracked, reason);
};

const perOperation = ({ operations }: RolloutView, now: string): readonly RolloutFact[] =>
  operations.flatMap((tracked) => {
    const deadline = deadlineOf(tracked);
    if (deadline !== null && deadline <= now && phaseOf(tracked) !== 'settling') {
      const cause = overdueIn(tracked);
      return surgeMissed(tracked, { cause, otherwise: failed(tracked, cause) });
    }
    return [...statedInPhase(tracked, now), ...leftOut(tracked, now)];
  });

const stands = ({ paused, halted, abortAsked }: Upgrade): boolean =>
  paused !== null || halted !== null || abortAsked !== null;

const rollbackBreaks = ({ operation, rollout }: TrackedOperation): readonly Finding[] =>
  operation.node === null
    ? []
    : g3MayRollBack(
        { name: operation.node, role: operation.role ?? 'worker', failed: true },
        operation.from,
        versionsNow(rollout),
      );

/** The node is allowed to change, or fails because it would break a rule of the version skew. */
const allowedOrFailed = (tracked: TrackedOperation, node: NodeName): RolloutFact => {
  const [broken] = tracked.state.rollingBack ? rollbackBreaks(tracked) : skewBrokenBy(tracked);
  if (broken === undefined)
    return { type: 'UpgradeAllowed', data: { ...ids(tracked.rollout), operation: tracked.operation.id, node } };
  return failed(tracked, { operation: `rule ${broken.rule}`, target: node, message: broken.sentence });
};

const AT_THE_GATE: ReadonlySet<string> = new Set<Phase>(['hook', 'gates-before', 'postpone', 'save-etcd', 'allow']);

/** Started nodes without any change yet: they are allowed, postponed, or wait during a pause. */
const atTheGate = ({ upgrade, operations }: RolloutView): readonly RolloutFact[] =>
  operations.flatMap((tracked): readonly RolloutFact[] => {
    const { operation, rollout } = tracked;
    const { node } = operation;
    const phase = phaseOf(tracked);
    if (node === null || !AT_THE_GATE.has(phase)) return [];
    const postponed = (by: Fact<'OperationPostponed'>['data']['by']): readonly RolloutFact[] => {
      const { sentence: reason } = POSTPONE_REASONS[by];
      return [{ type: 'OperationPostponed', data: { ...ids(rollout), operation: operation.id, node, by, reason } }];
    };
    if (stands(upgrade) && upgrade.abortAsked === null) return postponed('pause');
    if (phase === 'postpone') return postponed('leader');
    return phase === 'allow' ? [allowedOrFailed(tracked, node)] : [];
  });

const pausedFact = (view: RolloutView, pause: Pause): RolloutFact => ({
  type: 'RolloutPaused',
  data: { ...ids(view), ...pause },
});

/** Why the rollout should pause now, or null. Failing probes that a user has acknowledged by resuming do not count. */
const pauseDesired = (view: RolloutView, now: string): Pause | null => {
  const { upgrade } = view;
  if (upgrade.pauseAsked !== null) return { by: 'user', reason: upgrade.pauseAsked };
  const [probe] = Object.entries(upgrade.probesFailing).filter(([key]) => !upgrade.probesKnown.includes(key));
  if (probe !== undefined && upgrade.request.strategy.stopOnProbeFailure) return { by: 'probe', reason: probe[1] };
  const waits = view.operations.some(({ state }) => state.status === 'waiting');
  return waits ? (holdback(view, now) ?? budgetSpent(view, now)) : null;
};

const isOfTheWorld = ({ by }: Pause): boolean => by === 'window' || by === 'gate';

/** Pauses with an external reason end by themselves; those by users and probes end on request. */
const pauses = (view: RolloutView, now: string): readonly RolloutFact[] => {
  const { upgrade } = view;
  const { paused } = upgrade;
  const resumed: RolloutFact = { type: 'RolloutResumed', data: ids(view) };
  if (upgrade.resumeAsked) return [resumed];
  if (upgrade.halted !== null) return [];
  const desired = pauseDesired(view, now);
  if (paused === null) return desired === null ? [] : [pausedFact(view, desired)];
  const byItself = isOfTheWorld(paused);
  if (byItself && desired === null) return [resumed];
  return desired !== null && byItself && desired.by !== paused.by ? [pausedFact(view, desired)] : [];
};

const namesWith = ({ operations }: RolloutView, status: OperationState['status']) => [
  ...new Set(
    operations.flatMap(({ operation, state }) =>
      operation.node !== null && state.status === status ? [operation.node] : [],
    ),
  ),
];

/** New nodes that have come in the place of others, and are still there. */
const joinedIn = ({ operations, cluster }: RolloutView): readonly NodeName[] =>
  operations.flatMap(({ state }) => (state.replacement?.joined ?? []).filter((name) => name in cluster.nodes));

const rolloutCompleted = (view: RolloutView, now: string): RolloutFact => ({
  type: 'RolloutCompleted',
  data: {
    ...ids(view),
    upgraded: [...namesWith(view, 'done'), ...joinedIn(view)],
    skipped: namesWith(view, 'skipped'),
    quarantined: namesWith(view, 'quarantined'),
    tookMs: Math.max(0, Date.parse(now) - Date.parse(view.upgrade.startedAt ?? now)),
  },
});

const aborted = (view: RolloutView): RolloutFact => {
  const leftFailed = view.operations.filter(
    (tracked) => isAway(tracked) && drainOf(tracked.state, tracked.operation.node).cordon !== null,
  );
  const names = [...new Set(leftFailed.flatMap(({ operation }) => operation.nodes))];
  const { request, from } = view.upgrade;
  const again = request.declared === true && request.target.kubernetes !== undefined ? { declaredAgain: from } : {};
  return { type: 'RolloutAborted', data: { ...ids(view), leftFailed: names, ...again } };
};

/** The end of the rollout, once it is reached. */
const ends = (view: RolloutView, now: string): readonly RolloutFact[] => {
  if (view.operations.every(hasEnded)) return [rolloutCompleted(view, now)];
  if (view.upgrade.abortAsked === null) return [];
  const atWork = view.operations.some(
    (tracked) => tracked.operation.node !== null && (isInFlight(tracked) || !isLetGo(tracked, now)),
  );
  return atWork || isAnyUnderWay(view) ? [] : [...surgesReleased(view), aborted(view)];
};

/** The pool is done except for failed nodes, and its surge nodes are kept while those are unavailable. */
const surgeNodesWait = (view: RolloutView): boolean =>
  currentBatch(view).every(
    (tracked) => tracked.operation.kind === 'return-surge' && tracked.state.status === 'waiting' && !mayReturn(tracked),
  );

/** Everything except failed operations is done: an operator has to decide about those. */
const leftovers = (view: RolloutView): readonly RolloutFact[] => {
  const left = view.operations.filter((tracked) => !hasEnded(tracked));
  const [first] = left;
  const failures = left.filter(hasFailed);
  const stuck = failures.length === left.length || surgeNodesWait(view);
  if (first === undefined || failures.length === 0 || !stuck) return [];
  const cause = (failures[0] ?? first).state.failure?.cause ?? overdue(first);
  const nodes = failures.flatMap(({ operation }) => operation.nodes);
  return [haltedFact(view, { rule: 'G1', cause, nodes, role: 'worker' })];
};

const starts = (view: RolloutView, now: string): readonly RolloutFact[] =>
  startable(view, now).map(({ operation }) => ({
    type: 'OperationStarted',
    data: { ...ids(view), operation: operation.id, node: operation.node },
  }));

const firstOf = (...choices: readonly (() => readonly RolloutFact[])[]): readonly RolloutFact[] => {
  for (const choice of choices) {
    const facts = choice();
    if (facts.length > 0) return facts;
  }
  return [];
};

/** The next facts of a running rollout; earlier entries take precedence over later ones. */
const running = (view: RolloutView, now: string): readonly RolloutFact[] => {
  const { upgrade } = view;
  return firstOf(
    () => perOperation(view, now),
    () => ends(view, now),
    () => {
      const halt = upgrade.halted === null && !upgrade.resumeAsked ? haltOf(view, now) : undefined;
      return halt === undefined || upgrade.abortAsked !== null ? [] : [haltedFact(view, halt)];
    },
    () => (upgrade.abortAsked === null ? pauses(view, now) : []),
    () => atTheGate(view),
    () => (stands(upgrade) ? [] : leftovers(view)),
    () => (stands(upgrade) ? [] : starts(view, now)),
  );
};

/** The reason why the open upgrade waits, and the next step for an operator. */
const openUpgrade = ({ upgrade }: ClusterState): { readonly state: string; readonly next: string } => {
  const { halted = null, paused = null } = upgrade ?? {};
  if (halted !== null) {
    const { state, next } = OPEN_UPGRADE_STATES.halted;
    return { state: fillTemplate(state, { rule: halted.rule, message: halted.cause.message }), next };
  }
  if (paused === null) return OPEN_UPGRADE_STATES.running;
  const { state, next } = OPEN_UPGRADE_STATES[isOfTheWorld(paused) ? 'paused-by-itself' : 'paused'];
  return { state: fillTemplate(state, paused), next };
};

const anotherRuns = (cluster: ClusterState): readonly RolloutFact[] =>
  cluster.refusedUpgrades.map((upgradeId) => ({
    type: 'UpgradeRejected',
    data: {
      uid: cluster.uid,
      upgradeId,
      findings: [finding('B1.another-upgrade', { upgradeId: cluster.upgrade?.id }, openUpgrade(cluster))],
    },
  }));

/** Another version was declared while these upgrades waited; none of them had started. */
const replacedByOthers = ({ uid, superseded = {} }: ClusterState): readonly RolloutFact[] =>
  Object.entries(superseded).map(([upgradeId, supersededBy]) => ({
    type: 'RolloutAborted',
    data: { uid, upgradeId: upgradeId as UpgradeId, leftFailed: [], supersededBy },
  }));

/** An upgrade declared while another one is open. */
const comesNext = (cluster: ClusterState): readonly RolloutFact[] => {
  const { uid, nextUpgrade, upgrade } = cluster;
  if (nextUpgrade === undefined || nextUpgrade.isStated) return [];
  const findings = [finding('B1.another-upgrade', { upgradeId: upgrade?.id }, openUpgrade(cluster))];
  return [{ type: 'UpgradeWaiting', data: { uid, upgradeId: nextUpgrade.request.upgradeId, findings } }];
};

const refusals = (view: RolloutView): readonly RolloutFact[] =>
  view.upgrade.refused.map(({ request, finding }) => ({
    type: 'UpgradeCommandRefused',
    data: { ...ids(view), request, finding },
  }));

/** The plan starts once it is approved, nothing else is in progress, and no hook blocks it. */
const started = (view: RolloutView): readonly RolloutFact[] => {
  const { planHash, approved, paused, pauseAsked, resumeAsked } = view.upgrade;
  // A requested pause takes effect now if hooks block the start, otherwise after the start and before the first change.
  if (pauseAsked !== null && isUpgradeHeld(view)) return [pausedFact(view, { by: 'user', reason: pauseAsked })];
  if (paused !== null) return resumeAsked ? [{ type: 'RolloutResumed', data: ids(view) }] : [];
  const operations = underWay(view.cluster);
  // Nodes were added or removed since the plan was made, or will be: it is made again.
  if (operations.length > 0 && waitsForChecks(view.upgrade))
    return [
      {
        type: 'UpgradeWaiting',
        data: { ...ids(view), findings: [...b1OneOperation({ operations, clusterReady: true })] },
      },
    ];
  if (!approved || planHash === null || operations.length > 0 || isUpgradeHeld(view)) return [];
  return [{ type: 'RolloutStarted', data: { ...ids(view), planHash } }];
};

/** Steps that had failed and are no longer desired: they have succeeded, or what they were for is gone. */
const stepsRecovered = (cluster: ClusterState, view: RolloutView, now: string): readonly RolloutFact[] => {
  const failing = Object.values(view.upgrade.failingSteps ?? {});
  if (failing.length === 0) return [];
  const desired = new Set(tasks(cluster, now).map(({ type, node }) => `${type}/${node ?? ''}`));
  return failing
    .filter((one) => !desired.has(stepKeyOf(one)))
    .map(({ step, node }) => ({ type: 'UpgradeStepRecovered', data: { ...ids(view), step, node } }));
};

const opened = (view: RolloutView, now: string): readonly RolloutFact[] => {
  const { upgrade, cluster } = view;
  if (upgrade.refused.length > 0) return refusals(view);
  if (cluster.life === 'deleting') return [aborted(view)];
  if (upgrade.status === 'running') return running(view, now);
  if (upgrade.abortAsked !== null) return [aborted(view)];
  return upgrade.status === 'planned' ? started(view) : [];
};

/**
 * The facts that follow from the state: the whole rollout logic in one place. Called once per decision until nothing
 * more follows.
 */
export const advance = (cluster: ClusterState, now: string): readonly RolloutFact[] => {
  if (cluster.isPaused === true) return [];
  const beside = [...anotherRuns(cluster), ...replacedByOthers(cluster), ...comesNext(cluster)];
  if (beside.length > 0) return beside;
  const view = rolloutView(cluster);
  const recovered = view === null ? [] : stepsRecovered(cluster, view, now);
  if (recovered.length > 0) return recovered;
  return view === null || !isOpen(view.upgrade) ? releasedAgain(cluster, now) : opened(view, now);
};

const nearest = (moments: readonly (string | null)[], now: string): string | null =>
  moments.filter((moment): moment is string => moment !== null && moment > now).toSorted()[0] ?? null;

/** The next time at which a fact follows without any event; null: none. */
export const wakeAt = (cluster: ClusterState, now: string): string | null => {
  const view = rolloutView(cluster);
  const hooks = view === null ? [] : hooksDueAt(view);
  if (view === null || !isOpen(view.upgrade)) return nearest([...releasesAgainAt(cluster), ...hooks], now);
  if (view.upgrade.status !== 'running') return nearest([...hooks, looksAgainAt(view.upgrade)], now);
  const soaks = currentBatch(view).map(soakEndsAt);
  const deadlines = view.operations.map(deadlineOf);
  const regressions = regressedNodes(view).map(({ unwellSince }) =>
    unwellSince === null ? null : later(unwellSince, REGRESSION_MS),
  );
  const window = d7Window(view.upgrade.request.strategy.windows, now).changesAt;
  return nearest([...soaks, ...availableMoments(view), ...deadlines, ...regressions, ...hooks, window], now);
};
