import type { Cause, Fact, SuspensionReason, UnhealthyCount } from '@fairlead/contracts';
import { c8MayRemove, majorityOf } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import { e1Meltdown, MELTDOWN_SHARE } from '../rules/stop.rules.js';
import {
  isChangedByOthers,
  type KnownRemediation,
  limitedSince,
  type Member,
  nextRequestId,
  type Open,
} from './remediation.state.js';
import {
  checkedPools,
  isByPower,
  isControlPlanes,
  namedConditions,
  verdictOf,
  type CheckedPool,
  type Unhealthy,
} from './unhealthy.planner.js';

export type RemediationFact = Fact<
  | 'RemediationRequested'
  | 'RemediationSucceeded'
  | 'RemediationFailed'
  | 'RemediationSkipped'
  | 'RemediationSuspended'
  | 'RemediationResumed'
  | 'PowerCycleRequested'
>;

const MINUTE_MS = 60_000;
/** From the reboot request until the node is healthy again. */
export const REBOOT_LIMIT_MS = 10 * MINUTE_MS;
/** Servers test their hardware for minutes before they boot. */
export const POWER_CYCLE_LIMIT_MS = 20 * MINUTE_MS;
/** PodDisruptionBudgets may delay a drain for long. */
export const REPLACE_LIMIT_MS = 24 * 60 * MINUTE_MS;
/** Concurrent remediations of one pool, even if its health check allows more. */
export const AT_ONCE_MAX = 10;

const limitOf = ({ action, power }: Open): number =>
  action === 'replace' ? REPLACE_LIMIT_MS : power === undefined ? REBOOT_LIMIT_MS : POWER_CYCLE_LIMIT_MS;
const deadlineOf = (state: KnownRemediation, open: Open): string =>
  later(limitedSince(state, open.savedAt ?? open.startedAt), limitOf(open));

/** Ready, and without a Node condition listed in the health check. */
const isWell = ({ checks }: Pick<KnownRemediation, 'checks'>, member: Member | undefined): boolean =>
  member !== undefined &&
  member.wasReady &&
  member.unwellSince === null &&
  namedConditions(member, checks[member.pool]).length === 0;

type Ended = { readonly ok: true } | { readonly ok: false; readonly message: string } | undefined;

const rebootEnded = (state: KnownRemediation, { node }: Open): Ended => {
  const { members } = state;
  if (members[node] === undefined) return { ok: false, message: 'its machine is gone' };
  return isWell(state, members[node]) ? { ok: true } : undefined;
};

const replacementEnded = ({ members }: KnownRemediation, { node, replacement }: Open): Ended => {
  if (replacement === null) return undefined;
  const machine = members[replacement];
  if (machine === undefined) return { ok: false, message: `${replacement}, which was to take its place, is gone` };
  return machine.wasReady && members[node] === undefined ? { ok: true } : undefined;
};

const endedOf = (state: KnownRemediation, open: Open, now: string): Ended => {
  if (open.failed !== null) return { ok: false, message: open.failed.message };
  const ended = open.action === 'reboot' ? rebootEnded(state, open) : replacementEnded(state, open);
  if (ended !== undefined || now < deadlineOf(state, open)) return ended;
  return { ok: false, message: `it was not over after ${limitOf(open) / MINUTE_MS} minutes` };
};

/** Remediations that ended, by events of others or by timeout. */
const ends = (state: KnownRemediation, now: string): readonly RemediationFact[] =>
  Object.values(state.open).flatMap((open): readonly RemediationFact[] => {
    const ended = endedOf(state, open, now);
    if (ended === undefined) return [];
    const { requestId, node, pool, action, replacement, startedAt } = open;
    const one = { uid: state.uid, requestId, node, pool, action };
    if (ended.ok) {
      const tookMs = Math.max(0, Date.parse(now) - Date.parse(startedAt));
      const data = { ...one, ...(replacement === null ? {} : { replacement }), tookMs };
      return [{ type: 'RemediationSucceeded', data }];
    }
    const cause: Cause = { operation: action, target: node, message: ended.message, ...reasonOf(open) };
    return [{ type: 'RemediationFailed', data: { ...one, cause } }];
  });

const reasonOf = ({ failed }: Open): Pick<Cause, 'reason'> =>
  failed?.reason === undefined ? {} : { reason: failed.reason };

/** Why remediation of a pool is suspended, with the numbers behind it. */
interface Suspension extends UnhealthyCount {
  readonly reason: SuspensionReason;
}

/**
 * E1: above this share of all nodes, Fairlead's own view is more likely wrong than the nodes are. A node that a user
 * removes falls silent as expected; one that is removed because it looks dead still counts.
 */
const meltdownOf = (state: KnownRemediation): UnhealthyCount | undefined => {
  const { members, open } = state;
  const remediated = new Set<string>(Object.values(open).map(({ node }) => node));
  const nodes = Object.values(members).filter(
    ({ name, wasReady, leaving }) => wasReady && (!leaving || remediated.has(name)),
  );
  const [total, unhealthy] = [nodes.length, nodes.filter((node) => !isWell(state, node)).length];
  return e1Meltdown(total, unhealthy) ? { unhealthy, total, limit: Math.floor(total * MELTDOWN_SHARE) } : undefined;
};

/**
 * C8, also for a reboot: etcd must have its quorum without the node, which may also run a member of an external etcd.
 */
const quorumLostBy = (state: KnownRemediation): UnhealthyCount | undefined => {
  const controlPlanes = Object.values(state.members).filter(({ role }) => role === 'control-plane');
  const members = controlPlanes.length;
  const healthy = controlPlanes.filter((node) => isWell(state, node) && !node.leaving).length;
  const isSafe = c8MayRemove({ members, healthy }, false);
  const needed = majorityOf(members);
  return isSafe ? undefined : { unhealthy: members - healthy, total: members, limit: Math.max(0, members - needed) };
};

/** A user replaces or removes a control plane: never two at the same time. */
const isAnyChanged = ({ members, open }: KnownRemediation): boolean => {
  const own = new Set(Object.values(open).map(({ node }) => node as string));
  return Object.values(members).some(
    (member) => member.role === 'control-plane' && !own.has(member.name) && isChangedByOthers(member),
  );
};

/** Every reason not to start a remediation in the pool; the first one is recorded. */
const suspensionOf = (state: KnownRemediation, pool: CheckedPool): Suspension | undefined => {
  const { count } = pool;
  if (state.restoring) return { reason: 'RestoreInProgress', ...count };
  if (state.upgrading) return { reason: 'UpgradeInProgress', ...count };
  const meltdown = meltdownOf(state);
  if (meltdown !== undefined) return { reason: 'Meltdown', ...meltdown };
  if (count.unhealthy > count.limit || count.unhealthy < (count.least ?? 0))
    return { reason: 'TooManyUnhealthy', ...count };
  if (!isControlPlanes(pool)) return undefined;
  const quorum = quorumLostBy(state);
  if (quorum !== undefined) return { reason: 'NoQuorum', ...quorum };
  return isAnyChanged(state) ? { reason: 'ControlPlaneChanging', ...count } : undefined;
};

interface Due extends Unhealthy {
  readonly verdict: ReturnType<typeof verdictOf>;
}

const judged = (pool: CheckedPool, now: string): readonly Due[] =>
  pool.unhealthy.map((one) => ({ ...one, verdict: verdictOf(one, pool, now) }));

const withNamed = (nodeCondition: Unhealthy['nodeCondition']): Pick<Unhealthy, 'nodeCondition'> =>
  nodeCondition === undefined ? {} : { nodeCondition };

const skips = ({ uid }: KnownRemediation, due: readonly Due[]): readonly RemediationFact[] =>
  due.flatMap(({ member, condition, since, nodeCondition, verdict }): readonly RemediationFact[] => {
    if (verdict.kind !== 'skip' || member.skipped === verdict.reason) return [];
    const { name: node, pool } = member;
    return [
      {
        type: 'RemediationSkipped',
        data: { uid, node, pool, condition, since, ...withNamed(nodeCondition), reason: verdict.reason },
      },
    ];
  });

/** Recorded when the suspension starts, when its reason changes, and when it ends. */
const suspensions = (state: KnownRemediation, pool: CheckedPool, due: readonly Due[]): readonly RemediationFact[] => {
  const stated = state.suspended[pool.pool];
  const suspension = due.some(({ verdict }) => verdict.kind === 'act') ? suspensionOf(state, pool) : undefined;
  if (suspension?.reason === stated) return [];
  const about = { uid: state.uid, pool: pool.pool };
  return suspension === undefined
    ? [{ type: 'RemediationResumed', data: about }]
    : [{ type: 'RemediationSuspended', data: { ...about, ...suspension } }];
};

/** Suspended pools whose health check is no longer declared. */
const unchecked = ({ uid, suspended, checks }: KnownRemediation): readonly RemediationFact[] =>
  Object.keys(suspended)
    .filter((pool) => checks[pool] === undefined)
    .map((pool) => ({ type: 'RemediationResumed', data: { uid, pool } }));

/** A control plane waits for a snapshot of etcd, as before every reboot. */
const powerCycles = ({ uid, open }: KnownRemediation): readonly RemediationFact[] =>
  Object.values(open)
    .filter(({ power, awaitedSnapshot }) => power === 'due' && awaitedSnapshot === undefined)
    .map(({ node, requestId }) => ({ type: 'PowerCycleRequested', data: { uid, node, requestId } }));

/** Facts that follow from the state and the time alone. */
export const factsOf = (state: KnownRemediation, now: string): readonly RemediationFact[] => {
  if (state.life === 'deleting') return [];
  const ended = ends(state, now);
  if (ended.length > 0) return ended;
  const cycles = powerCycles(state);
  if (cycles.length > 0 || state.life !== 'ready') return cycles;
  return [
    ...unchecked(state),
    ...checkedPools(state, now).flatMap((pool) => {
      const due = judged(pool, now);
      return [...skips(state, due), ...suspensions(state, pool, due)];
    }),
  ];
};

/** A node that is remediated once it is confirmed as unhealthy. */
export interface Candidate extends Unhealthy {
  readonly action: 'reboot' | 'replace';
  readonly attempt: number;
  readonly count: UnhealthyCount;
}

/** Control planes one at a time: etcd and the API must be healthy again before the next one. */
const roomIn = (pool: CheckedPool): number => (isControlPlanes(pool) ? 1 : AT_ONCE_MAX) - pool.open.length;

export const candidatesOf = (state: KnownRemediation, now: string): readonly Candidate[] => {
  if (state.life !== 'ready') return [];
  return checkedPools(state, now).flatMap((pool) => {
    const room = roomIn(pool);
    if (room <= 0 || suspensionOf(state, pool) !== undefined) return [];
    const due = judged(pool, now).flatMap(({ verdict, ...one }): readonly Candidate[] =>
      verdict.kind === 'act' ? [{ ...one, action: verdict.action, attempt: verdict.attempt, count: pool.count }] : [],
    );
    // All control planes may be confirmed: one that turns out to be healthy must not block the others.
    return isControlPlanes(pool) ? due : due.slice(0, room);
  });
};

/**
 * A node that is silent, never started or lost its Node object serves nothing, so it is removed first; any other node
 * serves until its replacement does.
 */
const orderOf = ({ condition }: Candidate): 'create-first' | 'remove-first' =>
  condition === 'NotReady' || condition === 'Moved' || condition === 'NodeCondition' ? 'create-first' : 'remove-first';

/** The request for a node confirmed as unhealthy; empty: it has recovered, or must not be remediated. */
export const requestFor = (state: KnownRemediation, node: string, now: string): readonly RemediationFact[] => {
  const candidate = candidatesOf(state, now).find(({ member }) => member.name === node);
  if (candidate === undefined) return [];
  const { member, action, attempt, condition, since, nodeCondition, count } = candidate;
  const order = action === 'replace' ? { order: orderOf(candidate) } : {};
  const means = action === 'reboot' && isByPower(member) ? { means: 'power' as const } : {};
  const reason = { condition, since, ...withNamed(nodeCondition), ...count };
  const { name, pool } = member;
  const about = { uid: state.uid, requestId: nextRequestId(state), node: name, pool };
  return [{ type: 'RemediationRequested', data: { ...about, action, ...order, ...means, reason, attempt } }];
};

/** Times at which the passage of time alone changes something. */
export const momentsOf = (state: KnownRemediation, now: string): readonly string[] => [
  ...Object.values(state.open).map((open) => deadlineOf(state, open)),
  ...(state.life === 'ready' ? checkedPools(state, now) : []).flatMap((pool) =>
    judged(pool, now).flatMap(({ verdict }) => (verdict.kind === 'wait' ? [verdict.until] : [])),
  ),
];
