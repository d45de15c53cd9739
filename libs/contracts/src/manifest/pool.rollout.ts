import * as z from 'zod';
import { NodeShareRequest, shareOf, type NodeShare } from '../upgrades.js';

export const ROLLOUT_STRATEGIES = ['RollingUpdate', 'OnDelete'] as const;
export const ROLLOUT_DEFAULTS = { strategy: 'RollingUpdate', maxSurge: 1, maxUnavailable: 0, canary: true } as const;

/** How the nodes of a pool are replaced when its machine template changes. */
export const PoolRollout = z.strictObject({
  strategy: z
    .enum(ROLLOUT_STRATEGIES)
    .default(ROLLOUT_DEFAULTS.strategy)
    .describe('RollingUpdate: nodes are replaced at once; OnDelete: when someone replaces or removes them'),
  maxSurge: NodeShareRequest.default(ROLLOUT_DEFAULTS.maxSurge).describe(
    'How many nodes beyond its replicas the pool may have; a percentage is rounded up',
  ),
  maxUnavailable: NodeShareRequest.default(ROLLOUT_DEFAULTS.maxUnavailable).describe(
    'How many of its replicas may be missing; a percentage is rounded down',
  ),
  canary: z
    .boolean()
    .default(ROLLOUT_DEFAULTS.canary)
    .describe('One node is replaced alone, and the others as the limits allow once a new one is Ready'),
});
export type PoolRollout = z.infer<typeof PoolRollout>;

/** How control planes are replaced when their machine template changes: always one at a time. */
export const ControlPlaneRollout = z.strictObject({
  strategy: PoolRollout.shape.strategy,
  maxSurge: z
    .literal([0, 1])
    .default(ROLLOUT_DEFAULTS.maxSurge)
    .describe('1: the new control plane joins before the old one leaves; 0: the old one leaves first, of 3 or more'),
});
export type ControlPlaneRollout = z.infer<typeof ControlPlaneRollout>;

const CONTROL_PLANE_ROLLOUT: ControlPlaneRollout = {
  strategy: ROLLOUT_DEFAULTS.strategy,
  maxSurge: ROLLOUT_DEFAULTS.maxSurge,
};

export const controlPlaneRolloutOf = ({
  rollout,
}: {
  readonly rollout?: ControlPlaneRollout | undefined;
}): ControlPlaneRollout => rollout ?? CONTROL_PLANE_ROLLOUT;

/** With fewer, etcd would tolerate no failure, or have no member, while a control plane is missing. */
export const REMOVE_FIRST_CONTROL_PLANES_MIN = 3;

/** How many additional control planes a rollout may create: also 1 if removals have left too few for a declared 0. */
export const controlPlaneSurge = (of: {
  readonly replicas: number;
  readonly rollout?: ControlPlaneRollout | undefined;
}): 0 | 1 => (of.replicas < REMOVE_FIRST_CONTROL_PLANES_MIN ? 1 : controlPlaneRolloutOf(of).maxSurge);

/** Events from before canaries lack the field. */
export const rolloutOf = ({ rollout }: { readonly rollout?: PoolRollout | undefined }): PoolRollout => ({
  ...ROLLOUT_DEFAULTS,
  ...rollout,
});

type Limits = Pick<PoolRollout, 'maxSurge' | 'maxUnavailable'>;

const isZero = (share: NodeShare): boolean => share === 0 || share === '0%';

/** Whether no node could ever be replaced. */
export const isBlocked = ({ maxSurge, maxUnavailable }: Limits): boolean => isZero(maxSurge) && isZero(maxUnavailable);

/** Both limits as numbers, rounded as for a Deployment. If both round to 0, one node may be unavailable. */
export const rolloutLimits = (
  { maxSurge, maxUnavailable }: Limits,
  replicas: number,
): { readonly surge: number; readonly unavailable: number } => {
  const surge = Math.ceil(shareOf(maxSurge, replicas));
  const unavailable = Math.floor(shareOf(maxUnavailable, replicas));
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
};
