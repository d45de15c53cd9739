import * as z from 'zod';
import { NodeShareRequest, shareOf, type NodeShare } from '../upgrades.js';

export const ROLLOUT_STRATEGIES = ['InPlace', 'Replace', 'OnDelete'] as const;
export type RolloutStrategy = (typeof ROLLOUT_STRATEGIES)[number];
export const ROLLOUT_DEFAULTS = { strategy: 'InPlace', maxSurge: 1, maxUnavailable: 0, canary: true } as const;

/** The name of InPlace in earlier releases; accepted in requests and events. */
const FORMER_IN_PLACE = 'RollingUpdate';

/** How the nodes of a pool change: their version, and their machines. */
export const PoolRollout = z.strictObject({
  strategy: z
    .enum([...ROLLOUT_STRATEGIES, FORMER_IN_PLACE])
    .default(ROLLOUT_DEFAULTS.strategy)
    .describe(
      'InPlace: another Kubernetes version is installed on the nodes; nodes with other machines are replaced at once. Replace: nodes with another version are replaced, too. OnDelete: as InPlace, but nodes are replaced only when someone replaces or removes them. RollingUpdate: the former name of InPlace',
    ),
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

/** How control planes change; they are always replaced one at a time. */
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

const present = <Of extends { readonly strategy: PoolRollout['strategy'] }>(rollout: Of): Of =>
  rollout.strategy === FORMER_IN_PLACE ? { ...rollout, strategy: ROLLOUT_DEFAULTS.strategy } : rollout;

export const controlPlaneRolloutOf = ({
  rollout,
}: {
  readonly rollout?: ControlPlaneRollout | undefined;
}): ControlPlaneRollout => present(rollout ?? CONTROL_PLANE_ROLLOUT);

/** With fewer, etcd would tolerate no failure, or have no member, while a control plane is missing. */
export const REMOVE_FIRST_CONTROL_PLANES_MIN = 3;

/** How many additional control planes a rollout may create: also 1 if removals have left too few for a declared 0. */
export const controlPlaneSurge = (of: {
  readonly replicas: number;
  readonly rollout?: ControlPlaneRollout | undefined;
}): 0 | 1 => (of.replicas < REMOVE_FIRST_CONTROL_PLANES_MIN ? 1 : controlPlaneRolloutOf(of).maxSurge);

/** Events from before canaries lack the field. */
export const rolloutOf = ({ rollout }: { readonly rollout?: PoolRollout | undefined }): PoolRollout =>
  present({ ...ROLLOUT_DEFAULTS, ...rollout });

/** Whether another Kubernetes version comes to its nodes by their replacement. */
export const isReplacedForVersions = ({
  rollout,
}: {
  readonly rollout?: { readonly strategy: PoolRollout['strategy'] } | undefined;
}): boolean => rollout?.strategy === 'Replace';

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
