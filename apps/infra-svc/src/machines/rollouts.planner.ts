import {
  completePool,
  CONTROL_PLANE_POOL,
  controlPlaneRolloutOf,
  controlPlaneSurge,
  rolloutLimits,
  rolloutOf,
  type EventData,
  type MachinePlan,
  type NodeName,
  type PoolRollout as Limits,
  type ReplacementOrder,
} from '@fairlead/contracts';
import { differences, missingOf, templateOf, type Declared, type MachineTemplate } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import type { Cluster } from './machines.state.js';
import type { RequestedReplacement, PoolRollout } from './rollouts.js';

/** Limits the concurrent replacements of one pool, whatever its own limits are. */
export const REPLACEMENTS_AT_ONCE_MAX = 20;

interface Outdated {
  readonly name: NodeName;
  readonly reason: string;
}

/** A pool of workers, or the control plane, as input for its rollout. */
interface Pool {
  readonly name: string;
  readonly declared: MachineTemplate & { readonly replicas: number };
  readonly strategy: Limits['strategy'];
  readonly limits: ReturnType<typeof rolloutLimits>;
  /** A single node is replaced first, until a new one is available. */
  readonly canary: boolean;
  /** How long a node must be continuously Ready before it counts as available. */
  readonly minReadySeconds: number;
  /** The time for which the step is planned (RFC 3339). */
  readonly now: string;
  /** undefined: machines are replaced to match the declaration. */
  readonly asked: RequestedReplacement | undefined;
  /** Its machines in planning order, including joining and leaving ones. */
  readonly machines: readonly MachinePlan[];
  /** Names of the machines that its replicas count. */
  readonly counted: ReadonlySet<string>;
  readonly replaced: readonly NonNullable<Declared['replaced']>[string][];
  /** Machines that are requested but not planned yet. */
  readonly awaited: number;
}

type Rules = Pick<Pool, 'declared' | 'strategy' | 'limits' | 'canary' | 'minReadySeconds'>;

/** The declaration and the strategy of a pool; undefined: it is no longer declared. */
const rulesOf = ({ controlPlane, pools }: Declared['spec'], name: string): Rules | undefined => {
  if (name === CONTROL_PLANE_POOL) {
    const { strategy } = controlPlaneRolloutOf(controlPlane);
    const surge = controlPlaneSurge(controlPlane);
    return {
      declared: controlPlane,
      strategy,
      limits: { surge, unavailable: 1 - surge },
      canary: true,
      minReadySeconds: 0,
    };
  }
  const pool = pools.find((one) => one.name === name);
  if (pool === undefined) return undefined;
  const rollout = rolloutOf(pool);
  const { strategy, canary } = rollout;
  const { minReadySeconds } = completePool(pool);
  return { declared: pool, strategy, limits: rolloutLimits(rollout, pool.replicas), canary, minReadySeconds };
};

const poolOf = (
  { declared, planned }: Cluster,
  name: string,
  { asked }: PoolRollout,
  now: string,
): Pool | undefined => {
  const rules = declared === undefined ? undefined : rulesOf(declared.spec, name);
  if (declared === undefined || rules === undefined) return undefined;
  const replaced = Object.values(declared.replaced ?? {}).filter((one) => one.pool === name);
  const coming = replaced.filter(
    ({ order, vacant, newNode }) => newNode === null && (vacant || order === 'create-first'),
  );
  const requested = Object.values(declared.requests).reduce((sum, { awaited }) => sum + (awaited[name] ?? 0), 0);
  // Machines that are missing are asked for again beside it: it neither waits for them nor makes them.
  const replicas = rules.declared.replicas - missingOf(declared, name);
  return {
    name,
    ...rules,
    declared: { ...rules.declared, replicas },
    // Whoever asks for nodes to be replaced is the one for whom OnDelete waits.
    ...(asked === undefined ? {} : { strategy: 'InPlace' as const }),
    now,
    asked,
    machines: planned.filter((plan) => plan.pool === name && plan.surge === undefined),
    counted: new Set(Object.keys(declared.nodes).filter((node) => declared.nodes[node] === name)),
    replaced,
    awaited: coming.length + requested,
  };
};

const differencesOf = (plan: MachinePlan, { declared }: Pool): readonly string[] =>
  differences(templateOf(plan), declared);

/** Machines that differ from the declaration; for an explicit request, only those of the requested nodes. */
const outdatedIn = (pool: Pool): readonly Outdated[] => {
  const { machines, asked } = pool;
  if (asked !== undefined) {
    const reason = asked.reason === '' ? 'someone asked for it' : asked.reason;
    return machines.flatMap(({ name }) => (asked.nodes.includes(name) ? [{ name, reason }] : []));
  }
  return machines.flatMap((plan) => {
    const differs = differencesOf(plan, pool);
    return differs.length === 0 ? [] : [{ name: plan.name, reason: differs.join(', ') }];
  });
};

const isServing = ({ rollouts }: Cluster, name: string): boolean =>
  rollouts.ready[name] === true && rollouts.lost[name] !== true;

/** When a Ready node becomes available; null: it already is, as far as known. */
const availableAt = ({ rollouts }: Cluster, name: string, minReadySeconds: number): string | null => {
  const since = rollouts.readySince?.[name];
  return since === undefined || minReadySeconds === 0 ? null : later(since, minReadySeconds * 1_000);
};

/** Whether it has been Ready for `minReadySeconds` of its pool. */
const isAvailable = (cluster: Cluster, name: string, { minReadySeconds, now }: Pool): boolean =>
  isServing(cluster, name) && (availableAt(cluster, name, minReadySeconds) ?? now) <= now;

/**
 * Serving nodes that are kept. With remove-first, the old node counts as unavailable from the start of its replacement.
 */
const availableIn = (cluster: Cluster, pool: Pool): number => {
  const { counted, replaced } = pool;
  const leaving = new Set(replaced.flatMap(({ order, node }) => (order === 'remove-first' ? [node] : [])));
  return [...counted].filter((name) => !leaving.has(name) && isAvailable(cluster, name, pool)).length;
};

/**
 * Whether it is a result of the rollout: created as declared or, for an explicit request, one of the replacing nodes.
 */
const isNew = (plan: MachinePlan, pool: Pool): boolean =>
  pool.asked === undefined ? differencesOf(plan, pool).length === 0 : pool.asked.joined.includes(plan.name);

/** How many replacements may run concurrently: one in a pool with a canary, until a new node is available and kept. */
const atOnce = (cluster: Cluster, pool: Pool): number => {
  const leaving = new Set<string>(pool.replaced.map(({ node }) => node));
  const isProof = (plan: MachinePlan): boolean =>
    pool.counted.has(plan.name) &&
    !leaving.has(plan.name) &&
    isNew(plan, pool) &&
    isAvailable(cluster, plan.name, pool);
  return pool.canary && !pool.machines.some(isProof) ? 1 : REPLACEMENTS_AT_ONCE_MAX;
};

const holdOf = ({ rollouts }: Cluster, pool: string, node: string): string | undefined =>
  rollouts.heldNodes[node] ?? rollouts.heldPools[pool];

export interface PlannedReplacement extends Outdated {
  readonly order: ReplacementOrder;
}

/**
 * Nodes that can be replaced now. A machine whose creation failed and that is kept has no node yet: a retry creates it
 * first.
 */
const candidatesIn = (cluster: Cluster, pool: Pool): readonly Outdated[] => {
  const busy = new Set(pool.replaced.map(({ node }) => node));
  return outdatedIn(pool).filter(
    ({ name }) =>
      pool.counted.has(name) &&
      cluster.announced[name] === true &&
      !busy.has(name) &&
      holdOf(cluster, pool.name, name) === undefined,
  );
};

/** Whether no machine is joining or leaving, for whatever reason. */
const isSettled = (cluster: Cluster, { machines, counted, replaced, awaited }: Pool): boolean =>
  replaced.length === 0 &&
  awaited === 0 &&
  machines.every(({ name }) => counted.has(name) && cluster.announced[name] === true);

/**
 * The next control plane to replace: one at a time, and only while all others are Ready, so that each change of etcd
 * members starts with a full quorum. An unready one is replaced first; the initial one last, so that its role moves to
 * one that is kept.
 */
const nextControlPlane = (cluster: Cluster, pool: Pool): readonly PlannedReplacement[] => {
  if (!isSettled(cluster, pool)) return [];
  const rank = ({ name }: Outdated): number =>
    isAvailable(cluster, name, pool) ? 1 + Number(name === cluster.rollouts.initial) : 0;
  const [next] = candidatesIn(cluster, pool).toSorted((one, other) => rank(one) - rank(other));
  const others = pool.machines.filter(({ name }) => name !== next?.name);
  if (next === undefined || !others.every(({ name }) => isAvailable(cluster, name, pool))) return [];
  return [{ ...next, order: pool.limits.surge === 0 ? 'remove-first' : 'create-first' }];
};

/** New nodes that are Ready but not yet available: the rollout waits for them as for unavailable ones. */
const settlingIn = (cluster: Cluster, pool: Pool): readonly MachinePlan[] => {
  const leaving = new Set<string>(pool.replaced.map(({ node }) => node));
  return pool.machines.filter(
    (plan) =>
      pool.counted.has(plan.name) &&
      !leaving.has(plan.name) &&
      isNew(plan, pool) &&
      isServing(cluster, plan.name) &&
      !isAvailable(cluster, plan.name, pool),
  );
};

/**
 * The replacements that may begin now: create-first while the pool may have more machines, then remove-first while
 * enough nodes are available. Unavailable nodes are replaced first, at no cost, then the oldest.
 */
const nextWorkers = (cluster: Cluster, pool: Pool): readonly PlannedReplacement[] => {
  const { declared, limits, machines, replaced, awaited } = pool;
  const candidates = candidatesIn(cluster, pool);
  const failing = candidates.filter(({ name }) => !isServing(cluster, name));
  const serving = candidates.filter(({ name }) => isServing(cluster, name));
  const sorted = [...failing, ...serving].slice(0, Math.max(0, atOnce(cluster, pool) - replaced.length));
  const extra = Math.max(
    0,
    declared.replicas + limits.surge - machines.length - awaited - settlingIn(cluster, pool).length,
  );
  const first = sorted.slice(0, extra);
  const away = replaced.filter(({ order }) => order === 'remove-first').length;
  const missing = declared.replicas - availableIn(cluster, pool);
  const spare = Math.max(0, limits.unavailable - missing);
  const rest = sorted.slice(extra);
  const spared = [
    ...rest.filter((one) => failing.includes(one)),
    ...rest.filter((one) => serving.includes(one)).slice(0, spare),
  ];
  const leaving = spared.slice(0, Math.max(0, limits.unavailable - away));
  return [
    ...first.map((one) => ({ ...one, order: 'create-first' as const })),
    ...leaving.map((one) => ({ ...one, order: 'remove-first' as const })),
  ];
};

const nextIn = (cluster: Cluster, pool: Pool): readonly PlannedReplacement[] => {
  if (pool.strategy === 'OnDelete') return [];
  return pool.name === CONTROL_PLANE_POOL ? nextControlPlane(cluster, pool) : nextWorkers(cluster, pool);
};

/** A machine that its provider does not delete does not block a rollout: the deletion is retried independently. */
const isNotDeleted = ({ deletions }: Cluster, { name }: Outdated): boolean => (deletions[name]?.failures ?? 0) > 0;

/** Nodes that are still to be replaced, or leaving, until their machines are gone. */
const unfinishedIn = (cluster: Cluster, pool: Pool): readonly Outdated[] => {
  const isHeld = ({ name }: Outdated): boolean => holdOf(cluster, pool.name, name) !== undefined;
  const isOnDelete = pool.strategy === 'OnDelete';
  return outdatedIn(pool).filter(
    (one) => !isNotDeleted(cluster, one) && (!pool.counted.has(one.name) || !(isHeld(one) || isOnDelete)),
  );
};

const heldIn = (cluster: Cluster, pool: Pool): EventData<'PoolRolloutCompleted'>['heldBack'] =>
  outdatedIn(pool).flatMap(({ name }) => {
    const reason = holdOf(cluster, pool.name, name);
    return reason === undefined || !pool.counted.has(name) ? [] : [{ node: name, reason }];
  });

/** The facts that infra-svc states about the rollout of a pool. */
export type RolloutStep =
  | { readonly kind: 'replace'; readonly next: readonly PlannedReplacement[] }
  | { readonly kind: 'complete'; readonly heldBack: EventData<'PoolRolloutCompleted'>['heldBack'] }
  | { readonly kind: 'fail' }
  | { readonly kind: 'wait' };

/** The next step in the rollout of a pool. A pool that is no longer declared has nothing to replace. */
export const rolloutStep = (cluster: Cluster, name: string, rollout: PoolRollout, now: string): RolloutStep => {
  if (rollout.failed) return { kind: 'wait' };
  if (rollout.cause !== null) return { kind: 'fail' };
  const pool = poolOf(cluster, name, rollout, now);
  if (pool === undefined) return { kind: 'complete', heldBack: [] };
  const next = nextIn(cluster, pool);
  if (next.length > 0) return rollout.isPaused === true ? { kind: 'wait' } : { kind: 'replace', next };
  const isDone =
    pool.replaced.length === 0 && unfinishedIn(cluster, pool).length === 0 && settlingIn(cluster, pool).length === 0;
  return isDone ? { kind: 'complete', heldBack: heldIn(cluster, pool) } : { kind: 'wait' };
};

/** When nodes of pools in a rollout become available. */
export const availabilitiesOf = (cluster: Cluster, now: string): readonly string[] =>
  Object.entries(cluster.rollouts.pools).flatMap(([name, rollout]) => {
    const pool = poolOf(cluster, name, rollout, now);
    if (pool === undefined || pool.minReadySeconds === 0) return [];
    return pool.machines.flatMap((plan) => {
      const at = isServing(cluster, plan.name) ? availableAt(cluster, plan.name, pool.minReadySeconds) : null;
      return at !== null && at > now ? [at] : [];
    });
  });
