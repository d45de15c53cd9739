import { isHeld, nextCall, type Moment } from '@fairlead/domain';
import { underWay } from './check.planner.js';
import { momentOf, phaseOf } from './operation.planner.js';
import type { CallHook } from './rollout.tasks.js';
import type { RolloutView } from './rollout.view.js';

const BEFORE: Moment = { point: 'BeforeUpgrade' };
/** Maximum number of concurrent hook calls per cluster. */
const AT_ONCE_MAX = 5;

/** The plan is approved and nothing else is in progress: only hooks may still block it. */
const isDue = ({ cluster, upgrade }: RolloutView): boolean =>
  upgrade.status === 'planned' &&
  upgrade.approved &&
  upgrade.abortAsked === null &&
  upgrade.pauseAsked === null &&
  upgrade.paused === null &&
  underWay(cluster).length === 0;

export const isUpgradeHeld = ({ cluster }: RolloutView): boolean => isHeld(cluster.hooks, BEFORE);

/** The points whose hooks are due. */
const moments = (view: RolloutView): readonly Moment[] => {
  const { hooks } = view.cluster;
  if (hooks === undefined) return [];
  if (isDue(view)) return [BEFORE];
  const { status } = view.upgrade;
  if (status !== 'running' && status !== 'ended') return [];
  const held = view.operations.filter((tracked) => phaseOf(tracked) === 'hook').flatMap(momentOf);
  return [...held, ...hooks.passed];
};

const nextCalls = (view: RolloutView) => moments(view).flatMap((moment) => nextCall(view.cluster.hooks, moment) ?? []);

/** The hook calls due now. */
export const hookCalls = (view: RolloutView, now: string): readonly CallHook[] => {
  const base = { uid: view.cluster.uid, upgradeId: view.upgrade.id, run: view.upgrade.run };
  return nextCalls(view)
    .filter(({ at }) => at === null || at <= now)
    .slice(0, AT_ONCE_MAX)
    .map(({ call: { point, node, operation: during, hook, attempt } }) => ({
      ...{ ...base, type: 'CallHook', point, hook: hook.name, attempt },
      ...(node === undefined ? {} : { node }),
      ...(during === undefined ? {} : { during }),
    }));
};

/** When hooks are called again; null: at once, or never. */
export const hooksDueAt = (view: RolloutView): readonly (string | null)[] => nextCalls(view).map(({ at }) => at);
