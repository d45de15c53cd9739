import { d7Window, type Cause, type Fact } from '@fairlead/contracts';
import { heldBecause } from '../holds/holds.js';
import { later } from '@fairlead/event-sourcing';
import { refusing } from '../rules/finding.js';
import { g3MayRollBack } from '../rules/rollback.rules.js';
import { REGRESSION_MS } from '../rules/stop.rules.js';
import { underWay } from './check.planner.js';
import { haltedFact, haltOf, regressedNodes } from './halts.planner.js';
import { gatesLimitMs, phaseOf, presentNodes } from './operation.planner.js';
import type { RolloutFact } from './rollout.commands.js';
import {
  drainOf,
  hasEnded,
  hasFailed,
  isAway,
  isInFlight,
  isOpen,
  trackedOf,
  type ClusterState,
  type Pause,
  type Tracked,
  type Upgrade,
} from './rollout.state.js';
import { skewBrokenBy, versionsNow } from './skew.guard.planner.js';
import { budgetSpent, currentBatch, holdback, mayReturn, soakEndsAt, startable } from './starts.planner.js';
import {
  returnedAgain,
  returnsAgainAt,
  surgeMissed,
  surgeRequested,
  surgeReturned,
  surgesReturned,
} from './surge.planner.js';

const MINUTE_MS = 60_000;
/** From the permission to NodeReady: kubeadm's wall limit is 600 s, and it may be tried three times. */
export const CHANGE_LIMIT_MS = 40 * MINUTE_MS;
/** Staging is bounded by the node's download. */
export const STAGE_LIMIT_MS = 30 * MINUTE_MS;

const ids = (cluster: ClusterState, upgrade: Upgrade) => ({ uid: cluster.uid, upgradeId: upgrade.id });

/** When an operation has waited too long for gates, agents or machines; null: it waits for its own job, which has a limit of its own. */
export const deadlineOf = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked): string | null => {
  const { state } = tracked;
  switch (phaseOf(cluster, upgrade, tracked)) {
    case 'agent':
      return state.changedAt === null ? null : later(state.changedAt, CHANGE_LIMIT_MS);
    case 'nodes':
      return state.startedAt === null ? null : later(state.startedAt, STAGE_LIMIT_MS);
    case 'gates-before':
      return state.startedAt === null
        ? null
        : later(state.startedAt, gatesLimitMs(cluster, upgrade, tracked, 'before'));
    case 'gates-after':
      return state.readyAt === null ? null : later(state.readyAt, gatesLimitMs(cluster, upgrade, tracked, 'after'));
    case 'gates-finish':
      return state.effectAt === null ? null : later(state.effectAt, gatesLimitMs(cluster, upgrade, tracked, 'finish'));
    default:
      return null;
  }
};

const failed = (cluster: ClusterState, upgrade: Upgrade, { operation }: Tracked, cause: Cause): RolloutFact => ({
  type: 'OperationFailed',
  data: {
    ...ids(cluster, upgrade),
    operation: operation.id,
    node: operation.node,
    cause,
    attempt: 1,
    attemptsMax: 1,
    nextAttemptAt: null,
  },
});

/** More nodes than these fill a sentence without telling more. */
const NODES_NAMED_MAX = 5;

/** B9: which nodes could not bring their files and images, in the words of each. */
const unstagedCause = (cluster: ClusterState, { operation, state }: Tracked): Cause => {
  const missing = presentNodes(cluster, operation).filter((node) => !state.staged.includes(node));
  const words = missing
    .slice(0, NODES_NAMED_MAX)
    .map((node) => `${node}: ${state.unstaged[node] ?? 'its agent has said nothing of them'}`);
  const others = missing.length > words.length ? [`and ${missing.length - words.length} more`] : [];
  return {
    operation: 'bring files and images of the target to every node (B9)',
    target: missing.join(', '),
    message: [...words, ...others].join('; '),
  };
};

/** A gate speaks for itself. */
const overdueIn = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked): Cause => {
  if (tracked.operation.kind === 'stage') return unstagedCause(cluster, tracked);
  const { failing } = tracked.state;
  if (failing === null || !phaseOf(cluster, upgrade, tracked).startsWith('gates-')) return overdue(tracked);
  const target = tracked.operation.node ?? tracked.operation.id;
  return { operation: `gate ${failing.gate}`, target, message: failing.message };
};

const overdue = ({ operation }: Tracked): Cause => ({
  operation: operation.node === null ? operation.kind : 'change the node',
  target: operation.node ?? operation.id,
  message: `it was not done within ${(operation.node === null ? STAGE_LIMIT_MS : CHANGE_LIMIT_MS) / MINUTE_MS} minutes`,
});

/** D5: what could not be evicted in time. */
const stillHolding = ({ state }: Tracked): Cause => {
  const late = Object.entries(state.drains).filter(([, { timedOut, emptied }]) => timedOut !== null && !emptied);
  const pods = late.flatMap(([, { timedOut }]) => timedOut?.pods ?? []);
  const target = late.map(([node]) => node).join(', ');
  return { operation: 'empty the node', target, message: `it still holds ${pods.join(', ')}` };
};

/** What is said of a node operation in a phase that waits for no one. */
const spoken = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked, now: string): readonly RolloutFact[] => {
  const { operation, state } = tracked;
  const data = { ...ids(cluster, upgrade), operation: operation.id };
  const { node } = operation;
  switch (phaseOf(cluster, upgrade, tracked)) {
    case 'complete': {
      const tookMs = Math.max(0, Date.parse(now) - Date.parse(state.startedAt ?? now));
      if (node !== null && state.rollingBack)
        return [skipped(cluster, upgrade, tracked, 'it has its former software again')];
      return [{ type: 'OperationCompleted', data: { ...data, node, tookMs } }];
    }
    case 'leave':
      return node === null
        ? []
        : [skipped(cluster, upgrade, tracked, state.leaveOut ?? upgrade.abortAsked ?? 'left out')];
    case 'book':
      return [surgeRequested(cluster, upgrade, tracked)];
    case 'give-back':
      return [surgeReturned(cluster, upgrade, tracked)];
    case 'surge-failed': {
      const cause = state.trouble ?? overdue(tracked);
      return surgeMissed(cluster, upgrade, tracked, { cause, otherwise: failed(cluster, upgrade, tracked, cause) });
    }
    case 'give-up':
      return [failed(cluster, upgrade, tracked, stillHolding(tracked))];
    case 'quarantine':
      if (node === null) return [];
      return [
        {
          type: 'NodeQuarantined',
          data: { ...ids(cluster, upgrade), node, pods: [...(drainOf(state, node).timedOut?.pods ?? [])] },
        },
      ];
    default:
      return [];
  }
};

const skipped = (cluster: ClusterState, upgrade: Upgrade, { operation }: Tracked, reason: string): RolloutFact => ({
  type: 'NodeSkipped',
  data: { ...ids(cluster, upgrade), node: operation.node as Fact<'NodeSkipped'>['data']['node'], reason },
});

/** Nodes that are not to be changed after all: held since, removed since, or asked to be left out. */
const leftOut = (cluster: ClusterState, upgrade: Upgrade, tracked: Tracked): readonly RolloutFact[] => {
  const { operation, state } = tracked;
  const { node } = operation;
  if (node === null || hasEnded(tracked)) return [];
  const known = cluster.nodes[node];
  if (known === undefined) return [skipped(cluster, upgrade, tracked, 'it is no longer there')];
  if (state.status === 'failed') {
    const settled = !state.allowed || state.withdrawn;
    return settled && state.leaveOut !== null ? [skipped(cluster, upgrade, tracked, state.leaveOut)] : [];
  }
  if (state.status !== 'waiting') return [];
  const held = heldBecause(cluster.holds, known);
  const reason = state.leaveOut ?? (held === undefined ? undefined : `held: ${held}`);
  if (reason === undefined || state.rollingBack) return [];
  return operation.kind === 'worker' ? [skipped(cluster, upgrade, tracked, reason)] : [];
};

const perOperation = (cluster: ClusterState, upgrade: Upgrade, now: string): readonly RolloutFact[] =>
  trackedOf(upgrade).flatMap((tracked) => {
    const deadline = deadlineOf(cluster, upgrade, tracked);
    if (deadline !== null && deadline <= now) {
      const cause = overdueIn(cluster, upgrade, tracked);
      return surgeMissed(cluster, upgrade, tracked, { cause, otherwise: failed(cluster, upgrade, tracked, cause) });
    }
    return [...spoken(cluster, upgrade, tracked, now), ...leftOut(cluster, upgrade, tracked)];
  });

const stands = ({ paused, halted, abortAsked }: Upgrade): boolean =>
  paused !== null || halted !== null || abortAsked !== null;

/** Nodes that have begun and are not yet touched: they are allowed, give way, or wait while all waits. */
const atTheGate = (cluster: ClusterState, upgrade: Upgrade): readonly RolloutFact[] =>
  trackedOf(upgrade).flatMap((tracked): readonly RolloutFact[] => {
    const { operation, state } = tracked;
    const { node } = operation;
    const phase = phaseOf(cluster, upgrade, tracked);
    if (node === null || (phase !== 'gates-before' && phase !== 'postpone' && phase !== 'allow')) return [];
    const data = { ...ids(cluster, upgrade), operation: operation.id, node };
    if (stands(upgrade) && upgrade.abortAsked === null)
      return [{ type: 'OperationPostponed', data: { ...data, by: 'pause', reason: 'nothing begins for now' } }];
    if (phase === 'postpone')
      return [
        { type: 'OperationPostponed', data: { ...data, by: 'leader', reason: 'it leads etcd now, and goes last' } },
      ];
    if (phase !== 'allow') return [];
    const broken = state.rollingBack
      ? rollbackBreaks(cluster, upgrade, tracked)
      : skewBrokenBy(cluster, upgrade, operation);
    const [first] = broken;
    if (first === undefined) return [{ type: 'UpgradeAllowed', data }];
    return [
      failed(cluster, upgrade, tracked, { operation: `rule ${first.rule}`, target: node, message: first.sentence }),
    ];
  });

const rollbackBreaks = (cluster: ClusterState, upgrade: Upgrade, { operation }: Tracked) =>
  operation.node === null
    ? []
    : g3MayRollBack(
        { name: operation.node, role: operation.role ?? 'worker', failed: true },
        operation.from,
        versionsNow(cluster, upgrade),
      );

const pausedFact = (cluster: ClusterState, upgrade: Upgrade, pause: Pause): RolloutFact => ({
  type: 'RolloutPaused',
  data: { ...ids(cluster, upgrade), ...pause },
});

/** Why it should pause now, or null. Probes that someone has seen fail and resumed in spite of do not count. */
const pauseDesired = (cluster: ClusterState, upgrade: Upgrade, now: string): Pause | null => {
  if (upgrade.pauseAsked !== null) return { by: 'user', reason: upgrade.pauseAsked };
  const [probe] = Object.entries(upgrade.probesFailing).filter(([key]) => !upgrade.probesKnown.includes(key));
  if (probe !== undefined && upgrade.request.strategy.stopOnProbeFailure) return { by: 'probe', reason: probe[1] };
  const waits = trackedOf(upgrade).some(({ state }) => state.status === 'waiting');
  return waits ? (holdback(cluster, upgrade, now) ?? budgetSpent(cluster, upgrade, now)) : null;
};

const isOfTheWorld = ({ by }: Pause): boolean => by === 'window' || by === 'gate';

/** Pauses of the world end by themselves; those of people and probes when someone says so. */
const pauses = (cluster: ClusterState, upgrade: Upgrade, now: string): readonly RolloutFact[] => {
  const { paused } = upgrade;
  const resumed: RolloutFact = { type: 'RolloutResumed', data: ids(cluster, upgrade) };
  if (upgrade.resumeAsked) return [resumed];
  if (upgrade.halted !== null) return [];
  const desired = pauseDesired(cluster, upgrade, now);
  if (paused === null) return desired === null ? [] : [pausedFact(cluster, upgrade, desired)];
  const byItself = isOfTheWorld(paused);
  if (byItself && desired === null) return [resumed];
  return desired !== null && byItself && desired.by !== paused.by ? [pausedFact(cluster, upgrade, desired)] : [];
};

const namesWith = (upgrade: Upgrade, status: Tracked['state']['status']) => [
  ...new Set(
    trackedOf(upgrade).flatMap(({ operation, state }) =>
      operation.node !== null && state.status === status ? [operation.node] : [],
    ),
  ),
];

const completed = (cluster: ClusterState, upgrade: Upgrade, now: string): RolloutFact => ({
  type: 'RolloutCompleted',
  data: {
    ...ids(cluster, upgrade),
    upgraded: namesWith(upgrade, 'done'),
    skipped: namesWith(upgrade, 'skipped'),
    quarantined: namesWith(upgrade, 'quarantined'),
    tookMs: Math.max(0, Date.parse(now) - Date.parse(upgrade.startedAt ?? now)),
  },
});

const aborted = (cluster: ClusterState, upgrade: Upgrade): RolloutFact => {
  const leftFailed = trackedOf(upgrade).filter(
    (tracked) => isAway(tracked) && drainOf(tracked.state, tracked.operation.node).cordon !== null,
  );
  const names = [...new Set(leftFailed.flatMap(({ operation }) => operation.nodes))];
  return { type: 'RolloutAborted', data: { ...ids(cluster, upgrade), leftFailed: names } };
};

/** The end, if it has come. */
const ends = (cluster: ClusterState, upgrade: Upgrade, now: string): readonly RolloutFact[] => {
  const all = trackedOf(upgrade);
  if (all.every(hasEnded)) return [completed(cluster, upgrade, now)];
  if (upgrade.abortAsked === null) return [];
  const atWork = all.some((tracked) => isInFlight(tracked) && tracked.operation.node !== null);
  return atWork ? [] : [...surgesReturned(cluster, upgrade), aborted(cluster, upgrade)];
};

/** All of a pool is done but what failed, and its extra nodes stay as long as it is away. */
const extraNodesWait = (cluster: ClusterState, upgrade: Upgrade): boolean =>
  currentBatch(upgrade).every(
    ({ operation, state }) =>
      operation.kind === 'return-surge' && state.status === 'waiting' && !mayReturn(cluster, upgrade, operation.pool),
  );

/** Everything is done but what failed: someone has to say what becomes of that. */
const leftovers = (cluster: ClusterState, upgrade: Upgrade): readonly RolloutFact[] => {
  const left = trackedOf(upgrade).filter((tracked) => !hasEnded(tracked));
  const [first] = left;
  const failures = left.filter(hasFailed);
  const stuck = failures.length === left.length || extraNodesWait(cluster, upgrade);
  if (first === undefined || failures.length === 0 || !stuck) return [];
  const cause = (failures[0] ?? first).state.failure?.cause ?? overdue(first);
  const nodes = failures.flatMap(({ operation }) => operation.nodes);
  return [haltedFact(cluster, upgrade, { rule: 'G1', cause, nodes, role: 'worker' })];
};

const starts = (cluster: ClusterState, upgrade: Upgrade, now: string): readonly RolloutFact[] =>
  startable(cluster, upgrade, now).map(({ operation }) => ({
    type: 'OperationStarted',
    data: { ...ids(cluster, upgrade), operation: operation.id, node: operation.node },
  }));

const firstOf = (...choices: readonly (() => readonly RolloutFact[])[]): readonly RolloutFact[] => {
  for (const choice of choices) {
    const facts = choice();
    if (facts.length > 0) return facts;
  }
  return [];
};

/** What a running rollout says next; what comes first goes before all that follows from it. */
const running = (cluster: ClusterState, upgrade: Upgrade, now: string): readonly RolloutFact[] =>
  firstOf(
    () => perOperation(cluster, upgrade, now),
    () => ends(cluster, upgrade, now),
    () => {
      const halt = upgrade.halted === null && !upgrade.resumeAsked ? haltOf(cluster, upgrade, now) : undefined;
      return halt === undefined || upgrade.abortAsked !== null ? [] : [haltedFact(cluster, upgrade, halt)];
    },
    () => (upgrade.abortAsked === null ? pauses(cluster, upgrade, now) : []),
    () => atTheGate(cluster, upgrade),
    () => (stands(upgrade) ? [] : leftovers(cluster, upgrade)),
    () => (stands(upgrade) ? [] : starts(cluster, upgrade, now)),
  );

/** What is under way, and how someone who waits for it gets on. */
const inTheWay = ({ upgrade }: ClusterState): { readonly state: string; readonly help: string } => {
  const end = 'or end it: "fairlead upgrade abort".';
  const { halted = null, paused = null } = upgrade ?? {};
  if (halted !== null) {
    const state = `has halted by rule ${halted.rule}: ${halted.cause.message}`;
    return { state, help: `Repair the cause and try it again ("fairlead upgrade retry"), ${end}` };
  }
  if (paused === null) return { state: 'is under way', help: `Wait for its end, ${end}` };
  const state = `is paused (${paused.by}): ${paused.reason}`;
  return isOfTheWorld(paused)
    ? { state, help: `It goes on by itself: wait for its end, ${end}` }
    : { state, help: `Let it go on ("fairlead upgrade resume"), ${end}` };
};

const anotherRuns = (cluster: ClusterState): readonly RolloutFact[] =>
  cluster.refusedUpgrades.map((upgradeId) => ({
    type: 'UpgradeRejected',
    data: {
      uid: cluster.uid,
      upgradeId,
      findings: [
        refusing('B1', {
          sentence: `upgrade ${String(cluster.upgrade?.id)} ${inTheWay(cluster).state}`,
          facts: { upgradeId: cluster.upgrade?.id },
          help: inTheWay(cluster).help,
        }),
      ],
    },
  }));

const refusals = (cluster: ClusterState, upgrade: Upgrade): readonly RolloutFact[] =>
  upgrade.refused.map(({ request, finding }) => ({
    type: 'UpgradeCommandRefused',
    data: { ...ids(cluster, upgrade), request, finding },
  }));

/**
 * What is to be said now, from what is known: the whole course of a rollout in one place. It is said in one decision after
 * another until nothing more follows.
 */
export const advance = (cluster: ClusterState, now: string): readonly RolloutFact[] => {
  const { upgrade } = cluster;
  if (cluster.refusedUpgrades.length > 0) return anotherRuns(cluster);
  if (upgrade === null || !isOpen(upgrade)) return returnedAgain(cluster, now);
  if (upgrade.refused.length > 0) return refusals(cluster, upgrade);
  if (cluster.life === 'deleting') return [aborted(cluster, upgrade)];
  if (upgrade.status === 'running') return running(cluster, upgrade, now);
  if (upgrade.abortAsked !== null) return [aborted(cluster, upgrade)];
  const mayStart = upgrade.status === 'planned' && upgrade.approved && underWay(cluster).length === 0;
  if (!mayStart || upgrade.planHash === null) return [];
  return [{ type: 'RolloutStarted', data: { ...ids(cluster, upgrade), planHash: upgrade.planHash } }];
};

const nearest = (moments: readonly (string | null)[], now: string): string | null =>
  moments.filter((moment): moment is string => moment !== null && moment > now).toSorted()[0] ?? null;

/** The nearest moment at which something follows although nothing happens; null: there is none. */
export const wakeAt = (cluster: ClusterState, now: string): string | null => {
  const { upgrade } = cluster;
  if (upgrade === null || !isOpen(upgrade)) return nearest(returnsAgainAt(cluster), now);
  if (upgrade.status !== 'running') return null;
  const soaks = currentBatch(upgrade).map(({ operation }) => soakEndsAt(upgrade, operation));
  const deadlines = trackedOf(upgrade).map((tracked) => deadlineOf(cluster, upgrade, tracked));
  const regressions = regressedNodes(cluster, upgrade).map(({ unwellSince }) =>
    unwellSince === null ? null : later(unwellSince, REGRESSION_MS),
  );
  const window = d7Window(upgrade.request.strategy.windows, now).changesAt;
  return nearest([...soaks, ...deadlines, ...regressions, window], now);
};
