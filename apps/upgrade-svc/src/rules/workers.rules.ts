import {
  type Finding,
  type GateName,
  isMinorChange,
  type PoolStrategy,
  shareOf,
  type UserGate,
} from '@fairlead/contracts';
import { finding, when } from './finding.js';

/** D1: a pool of which no node runs the target yet begins with exactly one. */
export const d1NeedsCanary = (strategy: PoolStrategy, upToDate: number, toChange: number): boolean =>
  strategy.canary && upToDate === 0 && toChange > 1;

/** D2: max(1, ⌊maxUnavailable⌋ + ⌈maxSurge⌉), as kOps rounds. */
export const d2AtOnce = ({ maxUnavailable, maxSurge }: PoolStrategy, nodes: number): number =>
  Math.max(1, Math.floor(shareOf(maxUnavailable, nodes)) + Math.ceil(shareOf(maxSurge, nodes)));

/** D2: surge nodes of a pool while it is under way. */
export const d2Surge = ({ maxSurge }: PoolStrategy, nodes: number): number => Math.ceil(shareOf(maxSurge, nodes));

/**
 * D2: a node may begin if it does not make more of its pool unavailable than the budget. Nodes that are away for another
 * reason count; one of those may itself begin, for it is away already.
 */
export const d2MayBegin = (
  node: string,
  pool: {
    readonly atOnce: number;
    readonly inFlight: readonly string[];
    readonly unready: readonly string[];
    /** Ready, and not for minReadySeconds yet. They serve, so to change one of them is to take one more away. */
    readonly settling?: readonly string[];
  },
): boolean => {
  const away = new Set([...pool.inFlight, ...pool.unready]);
  if (pool.inFlight.length >= pool.atOnce) return false;
  const unavailable = new Set([...away, ...(pool.settling ?? [])].filter((name) => name !== node));
  return away.has(node) || unavailable.size < pool.atOnce;
};

/** D2: surge nodes go when no more of the pool are away than may be without them. */
export const d2MayReturn = (pool: {
  readonly atOnce: number;
  readonly surge: number;
  readonly unready: readonly string[];
}): boolean => new Set(pool.unready).size <= pool.atOnce - pool.surge;

/** D2: without its surge nodes a pool goes on only if it may have nodes away at all. */
export const d2MayForgo = (pool: { readonly atOnce: number; readonly surge: number }): boolean =>
  pool.atOnce > pool.surge;

/** D3: pods that are evicted prefer nodes that are done: only worth it when some are. */
export const d3MarkWorkers = (workers: readonly { readonly drain: boolean }[]): boolean =>
  workers.length > 1 && workers.some(({ drain }) => drain);

/** D4: what is seen on a worker before the next may begin. */
export const d4GatesAfter: readonly GateName[] = ['node-ready', 'daemonsets'];

export type DrainEnd = 'stop' | 'quarantine' | 'force';

/** D5: what happens to a node that cannot be emptied in time. Force ends by itself and is never silent. */
export const d5OnTimeout = ({ onDrainTimeout, forceUntil }: PoolStrategy, now: string): DrainEnd => {
  if (onDrainTimeout !== 'force') return onDrainTimeout;
  return forceUntil !== undefined && Date.parse(now) < Date.parse(forceUntil) ? 'force' : 'stop';
};

/** D5: force needs the moment at which it ends. */
export const d5ForceIsBounded = (pool: string, { onDrainTimeout, forceUntil }: PoolStrategy): readonly Finding[] =>
  when(onDrainTimeout === 'force' && forceUntil === undefined, () => finding('D5.unbounded', { pool }));

/** D6: a new minor of the kubelet needs an empty node, and so do a new runtime and a boot; patches may go without. */
export const d6MustDrain = (
  change: { readonly from: string; readonly to: string; readonly runtime: boolean; readonly reboot: boolean },
  strategy: PoolStrategy,
): boolean => change.reboot || change.runtime || isMinorChange(change.from, change.to) || !strategy.skipDrainForPatches;

/** D7: the user's own gates hold each node back until they pass. */
export const d7UserGates = (gates: readonly UserGate[]): readonly GateName[] =>
  gates.map(({ name }): GateName => `user:${name}`);
