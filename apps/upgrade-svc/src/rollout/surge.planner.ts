import type { Cause, NodeName, PlannedPool } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { d2MayForgo } from '../rules/workers.rules.js';
import type { RolloutFact } from './rollout.commands.js';
import { drainOf, hasEnded, type ClusterState, type SurgeMachine } from './rollout.state.js';
import type { RolloutView, TrackedOperation } from './rollout.view.js';

const poolOf = ({ upgrade: { plan } }: RolloutView, pool: string | null): PlannedPool | undefined =>
  plan?.pools.find(({ name }) => name === pool);

/** Surge machines of this upgrade and pool that still exist, leaving ones included. */
export const surgeNodesOf = ({ cluster, upgrade }: RolloutView, pool: string | null): readonly NodeName[] =>
  Object.values(cluster.extra).flatMap((machine) =>
    machine.upgradeId === upgrade.id && machine.pool === pool ? [machine.name] : [],
  );

const stayingOf = (view: RolloutView, pool: string | null): readonly NodeName[] =>
  surgeNodesOf(view, pool).filter((name) => view.cluster.extra[name]?.leaving === false);

/** Every surge node is Ready and runs the pods of all DaemonSets. */
const isReady = (view: RolloutView, pool: string | null): boolean => {
  const { cluster } = view;
  const ready = stayingOf(view, pool).filter((name) => cluster.nodes[name]?.ready === true);
  return ready.length >= (poolOf(view, pool)?.surge ?? 0) && cluster.life === 'ready';
};

/** D2: how many nodes of the pool may be unavailable now. Surge nodes count while they exist and are requested. */
export const atOnceNow = (view: RolloutView, pool: string | null): number => {
  const { cluster, upgrade } = view;
  const planned = poolOf(view, pool);
  if (planned === undefined || planned.surge === 0) return planned?.atOnce ?? 1;
  const there = stayingOf(view, pool).filter((name) => cluster.nodes[name] !== undefined);
  return planned.atOnce - planned.surge + (upgrade.surging.includes(planned.name) ? there.length : 0);
};

/** The remaining nodes of the pool were held or skipped meanwhile, so it needs no surge nodes. */
const nothingLeft = ({ operation: { pool, batch }, rollout }: TrackedOperation): boolean =>
  rollout.operations.every(
    (one) => one.operation.pool !== pool || one.operation.node === null || one.operation.batch < batch || hasEnded(one),
  );

/** Surge nodes that may run pods: they have joined, are not leaving, and were not drained. */
export const surgeToDrain = ({ operation, state, rollout }: TrackedOperation): readonly NodeName[] =>
  stayingOf(rollout, operation.pool).filter(
    (name) => (rollout.cluster.nodes[name]?.readyRevision ?? 0) > 0 && !drainOf(state, name).emptied,
  );

/** D5, for surge nodes: whether the policy skips the node or stops the rollout, it cannot be returned. */
const drainGivenUp = ({ state }: TrackedOperation): boolean =>
  Object.values(state.drains).some(
    ({ timedOut, emptied }) => timedOut !== null && timedOut.policy !== 'force' && !emptied,
  );

/** The phase of an operation on surge nodes. */
export const surgePhase = (
  tracked: TrackedOperation,
): 'complete' | 'surge-failed' | 'request-surge' | 'empty' | 'fail' | 'release-surge' | 'nodes' => {
  const { operation, state, rollout } = tracked;
  const { pool, kind } = operation;
  if (kind === 'book-surge') {
    if (nothingLeft(tracked)) return 'complete';
    if (state.trouble !== null) return 'surge-failed';
    if (!state.effect) return 'request-surge';
    return isReady(rollout, pool) ? 'complete' : 'nodes';
  }
  if (state.trouble !== null) return 'surge-failed';
  const left = surgeNodesOf(rollout, pool);
  if (!state.effect && drainGivenUp(tracked)) return 'fail';
  if (!state.effect && surgeToDrain(tracked).length > 0) return 'empty';
  if (!state.effect && (left.length > 0 || rollout.upgrade.surging.includes(pool ?? ''))) return 'release-surge';
  return left.length === 0 ? 'complete' : 'nodes';
};

const surgeOf = ({ operation: { id, pool }, rollout: { cluster, upgrade } }: TrackedOperation) => ({
  uid: cluster.uid,
  upgradeId: upgrade.id,
  operation: id,
  pool: pool ?? '',
});

export const surgeRequested = (tracked: TrackedOperation): RolloutFact => {
  const count = poolOf(tracked.rollout, tracked.operation.pool)?.surge ?? 1;
  return { type: 'SurgeRequested', data: { ...surgeOf(tracked), count } };
};

export const surgeReleased = (tracked: TrackedOperation): RolloutFact => {
  const nodes = [...surgeNodesOf(tracked.rollout, tracked.operation.pool)];
  return { type: 'SurgeReleased', data: { ...surgeOf(tracked), nodes } };
};

/** An aborted rollout releases all its surge nodes; including those that were released before and still exist. */
export const surgesReleased = (view: RolloutView): readonly RolloutFact[] =>
  (view.upgrade.plan?.pools ?? []).flatMap(({ name }) => {
    const releasing = view.operations.findLast(
      ({ operation }) => operation.kind === 'return-surge' && operation.pool === name,
    );
    const isThere = view.upgrade.surging.includes(name) || surgeNodesOf(view, name).length > 0;
    return releasing === undefined || !isThere ? [] : [surgeReleased(releasing)];
  });

/**
 * The surge nodes are not available: the pool continues without them if it may have unavailable nodes at all. Existing
 * ones are released.
 */
export const surgeMissed = (
  tracked: TrackedOperation,
  { cause, otherwise }: { readonly cause: Cause; readonly otherwise: RolloutFact },
): readonly RolloutFact[] => {
  const { pool, kind } = tracked.operation;
  if (kind !== 'book-surge') return [otherwise];
  const { upgrade } = tracked.rollout;
  const released = upgrade.surging.includes(pool ?? '') ? [surgeReleased(tracked)] : [];
  const planned = poolOf(tracked.rollout, pool);
  if (planned === undefined || !d2MayForgo(planned)) return [...released, otherwise];
  const reason = `${cause.message}; ${planned.atOnce - planned.surge} at a time`;
  return [...released, { type: 'SurgeSkipped', data: { ...surgeOf(tracked), reason } }];
};

/** After the end of the rollout nothing else releases a surge machine again, and it must not remain. */
const RELEASE_AGAIN_MS = 10 * 60_000;

const stuckOf = ({ life, extra }: ClusterState): readonly SurgeMachine[] =>
  life === 'deleting'
    ? []
    : Object.values(extra).filter(({ stuckSince, returnedBy }) => stuckSince !== null && returnedBy !== null);

const againAt = ({ stuckSince }: SurgeMachine): string | null =>
  stuckSince === null ? null : later(stuckSince, RELEASE_AGAIN_MS);

/** When surge machines whose removal failed are released again, although no rollout is running. */
export const releasesAgainAt = (cluster: ClusterState): readonly (string | null)[] => stuckOf(cluster).map(againAt);

export const releasedAgain = (cluster: ClusterState, now: string): readonly RolloutFact[] => {
  const due = stuckOf(cluster).find((machine) => (againAt(machine) ?? now) <= now);
  if (due === undefined || due.returnedBy === null) return [];
  const { upgradeId, pool, returnedBy: operation } = due;
  const nodes = Object.values(cluster.extra)
    .filter((one) => one.upgradeId === upgradeId && one.pool === pool)
    .map(({ name }) => name);
  return [{ type: 'SurgeReleased', data: { uid: cluster.uid, upgradeId, operation, pool, nodes } }];
};
