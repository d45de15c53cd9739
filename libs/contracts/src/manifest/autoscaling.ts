import * as z from 'zod';
import { POOL_NODES_MAX } from '../cluster.limits.js';
import { refuse, type Refusal } from '../refusals.js';

/** Bounds within which an autoscaler, or anyone who scales the pool, chooses its size. */
export const Autoscaling = z
  .strictObject({
    min: z
      .int()
      .min(0)
      .max(POOL_NODES_MAX)
      .describe('A new or smaller pool gets this size; 0: an autoscaler may empty the pool'),
    max: z.int().min(1).max(POOL_NODES_MAX).describe('A larger pool gets this size'),
  })
  .meta({ id: 'Autoscaling', description: 'Bounds of the size of a pool' });
export type Autoscaling = z.infer<typeof Autoscaling>;

interface Sized {
  readonly name: string;
  readonly replicas?: number | undefined;
  readonly autoscaling?: Autoscaling | undefined;
}

/** For a new pool whose manifest has neither a size nor bounds. */
const REPLICAS_DEFAULT = 1;

/**
 * The size of a pool, within its bounds: the declared one, else the current one. `before` is the current size;
 * undefined for a new pool.
 */
export const sizeOf = ({ replicas, autoscaling }: Sized, before?: number): number => {
  const size = replicas ?? before;
  if (autoscaling === undefined) return size ?? REPLICAS_DEFAULT;
  return Math.min(Math.max(size ?? autoscaling.min, autoscaling.min), autoscaling.max);
};

/**
 * Faults of pool sizes. A manifest must not set the size of an autoscaled pool: that would undo the autoscaler. The
 * current size is accepted, so that a manifest that was read can be sent back.
 */
export const sizeFaults = (pools: readonly Sized[], before: readonly Sized[] = []): readonly Refusal[] =>
  pools.flatMap(({ name: pool, replicas, autoscaling }, at) => {
    if (autoscaling === undefined) return [];
    const { min, max } = autoscaling;
    if (max < min) return [refuse('pool.autoscaling-bounds', { pool, min, max }, `spec.pools[${at}].autoscaling`)];
    const current = before.find(({ name }) => name === pool)?.replicas;
    return replicas === undefined || replicas === current
      ? []
      : [refuse('pool.replicas-autoscaled', { pool, replicas, min, max }, `spec.pools[${at}].replicas`)];
  });

/** Why a pool cannot be scaled to this size. */
export const scaleFaults = ({ name: pool, autoscaling }: Sized, replicas: number): readonly Refusal[] => {
  if (autoscaling === undefined) return [];
  const { min, max } = autoscaling;
  return replicas >= min && replicas <= max
    ? []
    : [refuse('pool.scale-out-of-bounds', { pool, replicas, min, max }, 'spec.replicas')];
};
