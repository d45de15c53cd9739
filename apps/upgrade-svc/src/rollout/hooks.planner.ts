import { isHeld, nextCall, type Moment } from '@fairlead/contracts';
import { underWay } from './check.planner.js';
import type { CallHook } from './rollout.tasks.js';
import type { RolloutView } from './rollout.view.js';

const BEFORE: Moment = { point: 'BeforeUpgrade' };

/** The plan is approved, and nothing else is under way: only hooks may still hold it. */
const isDue = ({ cluster, upgrade }: RolloutView): boolean =>
  upgrade.status === 'planned' && upgrade.approved && upgrade.abortAsked === null && underWay(cluster).length === 0;

export const isUpgradeHeld = ({ cluster }: RolloutView): boolean => isHeld(cluster.hooks, BEFORE);

/** Hooks that are asked now. */
export const hookCalls = (view: RolloutView, now: string): readonly CallHook[] => {
  const { cluster, upgrade } = view;
  const next = isDue(view) ? nextCall(cluster.hooks, BEFORE) : undefined;
  if (next === undefined || (next.at !== null && next.at > now)) return [];
  const { point, hook, attempt } = next.call;
  const base = { uid: cluster.uid, upgradeId: upgrade.id, run: upgrade.run };
  return [{ ...base, type: 'CallHook', point, hook: hook.name, attempt }];
};

/** When a hook is asked next; null: at once, or never. */
export const hookDueAt = (view: RolloutView): string | null =>
  isDue(view) ? (nextCall(view.cluster.hooks, BEFORE)?.at ?? null) : null;
