import {
  CONTROL_PLANE_POOL,
  durationMs,
  unhealthyLimits,
  type HealthCheck,
  type NodeCondition,
  type RemediationAction,
  type SkipReason,
  type UnhealthyCondition,
  type UnhealthyCount,
} from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { isChangedByOthers, type KnownRemediation, limitedSince, type Member, type Open } from './remediation.state.js';

/** A node that is not healthy, and when that makes it unhealthy. */
export interface Unhealthy {
  readonly member: Member;
  readonly condition: UnhealthyCondition;
  readonly since: string;
  readonly dueAt: string;
  /** Absent unless the condition is NodeCondition. */
  readonly nodeCondition?: NodeCondition;
}

/** A pool with a health check. */
export interface CheckedPool {
  readonly pool: string;
  readonly check: HealthCheck;
  readonly count: UnhealthyCount;
  readonly unhealthy: readonly Unhealthy[];
  readonly open: readonly Open[];
}

/** For a node with a silent agent, only the silence counts; an agent does not report on a missing Node object. */
const unwellOf = ({ lost, missing, ready }: Member): UnhealthyCondition => {
  if (lost) return 'Lost';
  if (missing === true) return 'Missing';
  return ready ? 'Moved' : 'NotReady';
};

interface PoolParts extends Pick<KnownRemediation, 'resumedAt'> {
  readonly check: HealthCheck;
  readonly open: readonly Open[];
}

type NamedCondition = NonNullable<HealthCheck['unhealthyNodeConditions']>[number];

/** Conditions of its Node that match its health check, with their start. */
export const namedConditions = (
  { conditions = {} }: Pick<Member, 'conditions'>,
  check: Pick<HealthCheck, 'unhealthyNodeConditions'> | undefined,
): readonly (NamedCondition & { readonly since: string })[] =>
  (check?.unhealthyNodeConditions ?? []).flatMap((named) => {
    const seen = conditions[named.type];
    return seen?.status === named.status ? [{ ...named, since: seen.since }] : [];
  });

const conditionOf = (member: Member, { check, resumedAt }: PoolParts): Unhealthy | undefined => {
  const { unwellSince, createdAt, wasReady } = member;
  if (unwellSince !== null) {
    const dueAt = later(limitedSince({ resumedAt }, unwellSince), durationMs(check.unhealthyAfter));
    return { member, condition: unwellOf(member), since: unwellSince, dueAt };
  }
  const named = namedConditions(member, check)
    .map(({ type, status, since, timeout }): Unhealthy => {
      const dueAt = later(limitedSince({ resumedAt }, since), durationMs(timeout));
      return { member, condition: 'NodeCondition', since, dueAt, nodeCondition: { type, status } };
    })
    .toSorted((one, other) => (one.dueAt < other.dueAt ? -1 : 1));
  if (wasReady && named.length > 0) return named[0];
  const startupMs = durationMs(check.startupTimeout);
  if (wasReady || createdAt === null || startupMs === 0) return undefined;
  const dueAt = later(limitedSince({ resumedAt }, createdAt), startupMs);
  return { member, condition: 'NotStarted', since: createdAt, dueAt };
};

/**
 * A node that was healthy counts as soon as it is not: if several nodes fail one after the other, none may be
 * remediated before the last of them is counted. A machine counts only once it should have become a node, and a Ready
 * node only once its condition has lasted.
 */
const counts = ({ condition, dueAt }: Unhealthy, now: string): boolean =>
  (condition !== 'NotStarted' && condition !== 'NodeCondition') || dueAt <= now;

/** A remediated node and its replacement count as one unhealthy node until the remediation ends. */
const countOf = (members: readonly Member[], unhealthy: readonly Unhealthy[], pool: PoolParts): UnhealthyCount => {
  const total = members.length + pool.open.length;
  const { min, max: limit } = unhealthyLimits(pool.check, total);
  const range = min > 0 ? { least: min } : {};
  return { unhealthy: unhealthy.length + pool.open.length, total, limit, ...range };
};

const checkedPool = (pool: string, parts: PoolParts, of: readonly Member[], now: string): CheckedPool => {
  const { check, open } = parts;
  const remediated = new Set(open.flatMap(({ node, replacement }) => [node, replacement]));
  const isOurs = (member: Member): boolean =>
    !member.kept && !isChangedByOthers(member) && !remediated.has(member.name);
  const members = of.filter(isOurs);
  const unhealthy = members
    .flatMap((member) => conditionOf(member, parts) ?? [])
    .toSorted((one, other) => (`${one.since} ${one.member.name}` < `${other.since} ${other.member.name}` ? -1 : 1));
  const counted = unhealthy.filter((one) => counts(one, now));
  return { pool, check, open, unhealthy, count: countOf(members, counted, parts) };
};

export const checkedPools = (
  { checks, members, open, resumedAt }: KnownRemediation,
  now: string,
): readonly CheckedPool[] => {
  const all = Object.values(members);
  return Object.entries(checks).map(([pool, check]) =>
    checkedPool(
      pool,
      {
        check,
        resumedAt,
        open: Object.values(open).filter((one) => one.pool === pool),
      },
      all.filter((member) => member.pool === pool),
      now,
    ),
  );
};

/** The possible action for an unhealthy node, apart from the limits of its pool. */
export type Verdict =
  | { readonly kind: 'skip'; readonly reason: SkipReason }
  | { readonly kind: 'wait'; readonly until: string }
  | { readonly kind: 'act'; readonly action: RemediationAction; readonly attempt: number };

const skip = (reason: SkipReason): Verdict => ({ kind: 'skip', reason });

const actionOf = (
  { remediation }: HealthCheck,
  rebootable: boolean,
  rebooted: boolean,
): RemediationAction | SkipReason => {
  switch (remediation) {
    case 'none':
      return 'RemediationDisabled';
    case 'replace':
      return 'replace';
    case 'reboot':
      return rebootable ? 'reboot' : 'RebootImpossible';
    case 'reboot-then-replace':
      return rebootable && !rebooted ? 'reboot' : 'replace';
  }
};

/** A node whose agent is silent is rebooted by the power of its host. */
export const isByPower = ({ lost, powered }: Member): boolean => lost && powered === true;

/**
 * Its agent carries out a reboot: a node whose agent is silent, or never ran, cannot be rebooted, unless the power of
 * its host can be switched. A node whose address changed has to join again.
 */
const isRebootable = (member: Member): boolean =>
  member.wasReady && member.movedTo === null && (!member.lost || isByPower(member));

export const verdictOf = (
  { member, dueAt }: Unhealthy,
  { check }: Pick<CheckedPool, 'check'>,
  now: string,
): Verdict => {
  if (dueAt > now) return { kind: 'wait', until: dueAt };
  const tried = member.wellForMs >= durationMs(check.minHealthyPeriod) ? null : member.tried;
  const rebooted = tried?.action === 'reboot';
  const action = actionOf(check, isRebootable(member), rebooted);
  if (action !== 'reboot' && action !== 'replace') return skip(action);
  // The replacement after an ineffective reboot belongs to the same attempt.
  const continues = rebooted && action === 'replace';
  const attempt = tried === null ? 1 : tried.attempt + (continues ? 0 : 1);
  if (attempt > check.maxRetries + 1) return skip('RetriesExhausted');
  const until = tried === null || continues ? now : later(tried.at, durationMs(check.retryPeriod));
  return until > now ? { kind: 'wait', until } : { kind: 'act', action, attempt };
};

export const isControlPlanes = ({ pool }: Pick<CheckedPool, 'pool'>): boolean => pool === CONTROL_PLANE_POOL;
