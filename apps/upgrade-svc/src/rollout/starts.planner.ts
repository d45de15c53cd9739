import { fillTemplate, PAUSE_REASONS, type Placeholders } from '@fairlead/contracts';
import { d7Window } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import { strategyOf } from '../plan/plan.request.js';
import { c9WorkersMayBegin } from '../rules/control-plane.rules.js';
import { d2MayBegin, d2MayForgo, d2MayReturn } from '../rules/workers.rules.js';
import { meltdownOf } from './halts.planner.js';
import { passOf } from './operation.planner.js';
import {
  hasEnded,
  hasFailed,
  isAway,
  isOverridden,
  isReplacing,
  isUnhealthy,
  type OperationProgress,
  type Pause,
} from './rollout.state.js';
import type { RolloutView, TrackedOperation } from './rollout.view.js';
import { atOnceNow } from './surge.planner.js';

/** A failed worker does not block the batch: rules E decide whether it stops the others. */
const isPassed = (tracked: OperationProgress): boolean =>
  hasEnded(tracked) || (hasFailed(tracked) && tracked.operation.kind === 'worker');

/** The operations that may run now: those of the first batch that has not ended. */
export const currentBatch = ({ operations }: RolloutView): readonly TrackedOperation[] => {
  const left = operations.filter((tracked) => !isPassed(tracked));
  const batch = Math.min(...left.map(({ operation }) => operation.batch));
  return left.filter(({ operation }) => operation.batch === batch);
};

/** When the soak time after the pool's last batch ends; null: it has none, or no batch before this one. */
export const soakEndsAt = ({ operation: { pool, batch, kind }, rollout }: TrackedOperation): string | null => {
  const { strategy } = rollout.upgrade.request;
  const seconds = pool === null || kind !== 'worker' ? 0 : strategyOf(strategy, pool).soakSeconds;
  const ends = rollout.operations
    .filter(({ operation }) => operation.kind === 'worker' && operation.pool === pool && operation.batch < batch)
    .flatMap(({ state }) => (state.endedAt === null ? [] : [state.endedAt]))
    .toSorted();
  const last = ends.at(-1);
  return seconds === 0 || last === undefined ? null : later(last, seconds * 1_000);
};

/** A postponed operation runs last in its pass, whatever its place in the plan. */
const inTurn = (tracked: TrackedOperation): TrackedOperation => {
  if (tracked.operation.kind !== 'control-plane' || !tracked.state.postponed) return tracked;
  const waiting = passOf(tracked).filter(({ state }) => state.status === 'waiting');
  return waiting.find(({ state }) => !state.postponed) ?? tracked;
};

/** When each Ready worker of a pool becomes available: counted from the end of its change if that is later. */
const availabilitiesIn = ({ cluster, operations }: RolloutView, pool: string | null) => {
  const seconds = pool === null ? 0 : (cluster.minReady?.[pool] ?? 0);
  if (seconds === 0) return [];
  const endOf = (node: string): string =>
    operations.findLast(({ operation, state }) => operation.node === node && state.status === 'done')?.state.endedAt ??
    '';
  return Object.values(cluster.nodes).flatMap(({ name, role, pool: of, readySince }) => {
    if (role !== 'worker' || of !== pool || readySince === null) return [];
    const since = [readySince, endOf(name)].toSorted().at(-1) ?? readySince;
    return [{ name, at: later(since, seconds * 1_000) }];
  });
};

/** Ready, but not yet for the time that the pool declares. */
const settlingIn = (view: RolloutView, pool: string | null, now: string): readonly string[] =>
  availabilitiesIn(view, pool).flatMap(({ name, at }) => (at > now ? [name] : []));

/** The times after which more operations may start, because nodes of their pools become available. */
export const availableMoments = (view: RolloutView): readonly string[] =>
  [...new Set(currentBatch(view).map(({ operation }) => operation.pool))].flatMap((pool) =>
    availabilitiesIn(view, pool).map(({ at }) => at),
  );

const poolNow = (view: RolloutView, pool: string | null) => {
  const ofPool = view.operations.filter(({ operation }) => operation.pool === pool && operation.node !== null);
  const names = (tracked: readonly OperationProgress[]): readonly string[] =>
    tracked.flatMap(({ operation }) => operation.nodes);
  const away = names(ofPool.filter((tracked) => isAway(tracked) && tracked.state.status !== 'open'));
  const unwell = Object.values(view.cluster.nodes)
    .filter((node) => node.role === 'worker' && node.pool === pool && isUnhealthy(node))
    .map(({ name }): string => name);
  return {
    atOnce: atOnceNow(view, pool),
    inFlight: names(ofPool.filter(({ state }) => state.status === 'open')),
    unready: [...away, ...unwell],
  };
};

/**
 * Nodes of the pool that would be missing without its surge nodes: neither the surge nodes themselves, nor nodes that a
 * user skipped.
 */
const missedOf = (view: RolloutView, pool: string | null): readonly string[] => {
  const left = view.operations
    .filter(({ state }) => state.status === 'skipped' || state.status === 'quarantined')
    .flatMap(({ operation }): readonly string[] => operation.nodes);
  return poolNow(view, pool).unready.filter((name) => view.cluster.extra[name] === undefined && !left.includes(name));
};

const failedIn = ({ operations }: RolloutView, pool: string | null): boolean =>
  operations.some((tracked) => tracked.operation.pool === pool && hasFailed(tracked));

/**
 * Whether the surge nodes of a pool may be deleted now (D2): not while a failed node could not be retried without them.
 */
export const mayReturn = ({ operation: { pool }, rollout }: TrackedOperation): boolean => {
  const planned = rollout.upgrade.plan?.pools.find(({ name }) => name === pool);
  if (planned === undefined) return true;
  if (failedIn(rollout, pool) && !d2MayForgo(planned)) return false;
  return d2MayReturn({ ...planned, unready: missedOf(rollout, pool) });
};

/** Operations that may start at `now`, in order, within the budget of their pool. */
export const startable = (view: RolloutView, now: string): readonly TrackedOperation[] => {
  const waiting = currentBatch(view)
    .filter(({ state }) => state.status === 'waiting')
    .map(inTurn);
  if (view.operations.some(({ operation, state }) => state.status === 'open' && operation.kind !== 'worker')) return [];
  const progress = view.operations.map((one) => ({ operation: one.operation, ended: hasEnded(one) }));
  const starting: TrackedOperation[] = [];
  for (const tracked of waiting) {
    const { operation } = tracked;
    const soak = soakEndsAt(tracked);
    if (soak !== null && soak > now) continue;
    if (operation.kind === 'return-surge' && !mayReturn(tracked)) continue;
    if (operation.kind !== 'worker') return [tracked];
    if (!c9WorkersMayBegin(progress, operation)) continue;
    const pool = poolNow(view, operation.pool);
    const inFlight = [...pool.inFlight, ...starting.flatMap((one) => one.operation.nodes)];
    const settling = settlingIn(view, operation.pool, now);
    if (operation.node !== null && d2MayBegin(operation.node, { ...pool, settling, inFlight })) starting.push(tracked);
  }
  return starting;
};

export const pauseFor = <Reason extends keyof typeof PAUSE_REASONS>(
  reason: Reason,
  values: Readonly<Record<Placeholders<(typeof PAUSE_REASONS)[Reason]['sentence']>, unknown>>,
): Pause => {
  const { by, sentence } = PAUSE_REASONS[reason];
  return { by, reason: fillTemplate<string>(sentence, values) };
};

/** Why nothing may start now although no operator asked for a pause; ends by itself. */
export const holdback = (view: RolloutView, now: string): Pause | null => {
  const { cluster, upgrade } = view;
  const repairs = Object.values(cluster.repairs);
  // Replacements of this plan are repairs, too.
  if (repairs.length > 0 && !isReplacing(upgrade)) return pauseFor('in-progress', { operations: repairs.join('; ') });
  const blind = upgrade.failingSteps?.['BeginProbes/'];
  if (blind !== undefined && upgrade.request.strategy.stopOnProbeFailure) return pauseFor('no-probes', blind);
  const meltdown = meltdownOf(view);
  if (meltdown !== undefined) return pauseFor('meltdown', meltdown);
  if (isOverridden(upgrade, 'D7')) return null;
  const { open, changesAt } = d7Window(upgrade.request.strategy.windows, now);
  return open ? null : pauseFor('window', { opensAt: changesAt ?? 'no time' });
};

/**
 * No operation is open and none may start, because nodes that are unavailable for other reasons use up the budget (D2).
 */
export const budgetSpent = (view: RolloutView, now: string): Pause | null => {
  if (view.operations.some(({ state }) => state.status === 'open')) return null;
  const waiting = currentBatch(view).find(({ state }) => state.status === 'waiting');
  if (waiting === undefined || startable(view, now).length > 0) return null;
  const soak = soakEndsAt(waiting);
  if (soak !== null && soak > now) return null;
  const { pool, kind } = waiting.operation;
  if (settlingIn(view, pool, now).length > 0) return null;
  const { unready, atOnce } = poolNow(view, pool);
  if (kind === 'return-surge') {
    // A halt (G1) reports failed operations, with the possible actions of an operator.
    if (failedIn(view, pool)) return null;
    return pauseFor('surge-stays', { nodes: [...new Set(missedOf(view, pool))], pool });
  }
  return pauseFor('budget', { nodes: [...new Set(unready)], atOnce });
};
