import { z } from 'zod';
import { NodeShare, shareOf } from '../upgrades.js';

export const ROLLOUT_STRATEGIES = ['RollingUpdate', 'OnDelete'] as const;
export const ROLLOUT_DEFAULTS = { strategy: 'RollingUpdate', maxSurge: 1, maxUnavailable: 0 } as const;

/** How the nodes of a pool are replaced when its machine template changes. */
export const PoolRollout = z.strictObject({
  strategy: z
    .enum(ROLLOUT_STRATEGIES)
    .default(ROLLOUT_DEFAULTS.strategy)
    .describe('RollingUpdate: nodes are replaced at once; OnDelete: when someone replaces or removes them'),
  maxSurge: NodeShare.default(ROLLOUT_DEFAULTS.maxSurge).describe(
    'How many nodes beyond its replicas the pool may have; a percentage is rounded up',
  ),
  maxUnavailable: NodeShare.default(ROLLOUT_DEFAULTS.maxUnavailable).describe(
    'How many of its replicas may be missing; a percentage is rounded down',
  ),
});
export type PoolRollout = z.infer<typeof PoolRollout>;

export const rolloutOf = ({ rollout }: { readonly rollout?: PoolRollout | undefined }): PoolRollout =>
  rollout ?? ROLLOUT_DEFAULTS;

const isZero = (share: NodeShare): boolean => share === 0 || share === '0%';

/** Nothing could ever be replaced. */
export const isBlocked = ({ maxSurge, maxUnavailable }: PoolRollout): boolean =>
  isZero(maxSurge) && isZero(maxUnavailable);

/** The two limits as numbers, rounded as those of a Deployment. Where both come to 0, one node may be missing. */
export const rolloutLimits = (
  { maxSurge, maxUnavailable }: PoolRollout,
  replicas: number,
): { readonly surge: number; readonly unavailable: number } => {
  const surge = Math.ceil(shareOf(maxSurge, replicas));
  const unavailable = Math.floor(shareOf(maxUnavailable, replicas));
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
};
