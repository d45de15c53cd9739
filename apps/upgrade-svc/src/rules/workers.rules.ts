import {
  type Finding,
  type GateName,
  isMinorChange,
  type PoolStrategy,
  shareOf,
  type UserGate,
} from '@fairlead/contracts';
import { finding, when } from './finding.js';

/** D1: a pool without a node at the target starts with exactly one. */
export const d1NeedsCanary = (strategy: PoolStrategy, upToDate: number, toChange: number): boolean =>
  strategy.canary && upToDate === 0 && toChange > 1;

/** D2: max(1, ⌊maxUnavailable⌋ + ⌈maxSurge⌉), rounded like in kOps. */
export const d2AtOnce = ({ maxUnavailable, maxSurge }: PoolStrategy, nodes: number): number =>
  Math.max(1, Math.floor(shareOf(maxUnavailable, nodes)) + Math.ceil(shareOf(maxSurge, nodes)));

/** D2: surge nodes of a pool while it is being upgraded. */
export const d2Surge = ({ maxSurge }: PoolStrategy, nodes: number): number => Math.ceil(shareOf(maxSurge, nodes));

/**
 * D2: a node may start if the number of unavailable nodes in its pool stays within the budget. Nodes that are
 * unavailable for another reason count; such a node may itself start, because it is already unavailable.
 */
export const d2MayBegin = (
  node: string,
  pool: {
    readonly atOnce: number;
    readonly inFlight: readonly string[];
    readonly unready: readonly string[];
    /** Ready, but not yet for minReadySeconds. They serve, so changing one of them makes one more node unavailable. */
    readonly settling?: readonly string[];
  },
): boolean => {
  const away = new Set([...pool.inFlight, ...pool.unready]);
  if (pool.inFlight.length >= pool.atOnce) return false;
  const unavailable = new Set([...away, ...(pool.settling ?? [])].filter((name) => name !== node));
  return away.has(node) || unavailable.size < pool.atOnce;
};

/** D2: surge nodes are deleted once no more nodes of the pool are unavailable than allowed without them. */
export const d2MayReturn = (pool: {
  readonly atOnce: number;
  readonly surge: number;
  readonly unready: readonly string[];
}): boolean => new Set(pool.unready).size <= pool.atOnce - pool.surge;

/** D2: a pool continues without its surge nodes only if it may have unavailable nodes at all. */
export const d2MayForgo = (pool: { readonly atOnce: number; readonly surge: number }): boolean =>
  pool.atOnce > pool.surge;

/** D3: evicted pods prefer upgraded nodes: only useful if nodes are drained. */
export const d3MarkWorkers = (workers: readonly { readonly drain: boolean }[]): boolean =>
  workers.length > 1 && workers.some(({ drain }) => drain);

/** D4: the gates of a worker before the next one may start. */
export const d4GatesAfter: readonly GateName[] = ['node-ready', 'daemonsets'];

export type DrainEnd = 'stop' | 'quarantine' | 'force';

/** D5: the result for a node that cannot be drained in time. `force` is time-limited and always reported. */
export const d5OnTimeout = ({ onDrainTimeout, forceUntil }: PoolStrategy, now: string): DrainEnd => {
  if (onDrainTimeout !== 'force') return onDrainTimeout;
  return forceUntil !== undefined && Date.parse(now) < Date.parse(forceUntil) ? 'force' : 'stop';
};

/** D5: `force` requires an end time. */
export const d5ForceIsBounded = (pool: string, { onDrainTimeout, forceUntil }: PoolStrategy): readonly Finding[] =>
  when(onDrainTimeout === 'force' && forceUntil === undefined, () => finding('D5.unbounded', { pool }));

/** D6: a new kubelet minor, a new runtime and a reboot require a drain; patches may skip it. */
export const d6MustDrain = (
  change: { readonly from: string; readonly to: string; readonly runtime: boolean; readonly reboot: boolean },
  strategy: PoolStrategy,
): boolean => change.reboot || change.runtime || isMinorChange(change.from, change.to) || !strategy.skipDrainForPatches;

/** D7: user-defined gates block each node until they pass. */
export const d7UserGates = (gates: readonly UserGate[]): readonly GateName[] =>
  gates.map(({ name }): GateName => `user:${name}`);
