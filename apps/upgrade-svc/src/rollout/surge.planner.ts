import type { Cause, NodeName, PlannedPool } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { d2MayForgo } from '../rules/workers.rules.js';
import type { RolloutFact } from './rollout.commands.js';
import {
  drainOf,
  hasEnded,
  trackedOf,
  type SurgeMachine,
  type ClusterState,
  type Tracked,
  type Upgrade,
} from './rollout.state.js';

const poolOf = ({ plan }: Upgrade, pool: string | null): PlannedPool | undefined =>
  plan?.pools.find(({ name }) => name === pool);

/** Machines of the upgrade beyond the requested size of the pool that are not gone, those that leave among them. */
export const extraOf = ({ extra }: ClusterState, { id }: Upgrade, pool: string | null): readonly NodeName[] =>
  Object.values(extra).flatMap((machine) => (machine.upgradeId === id && machine.pool === pool ? [machine.name] : []));

const stayingOf = (cluster: ClusterState, upgrade: Upgrade, pool: string | null): readonly NodeName[] =>
  extraOf(cluster, upgrade, pool).filter((name) => cluster.extra[name]?.leaving === false);

/** Every extra node is Ready, and what runs on all nodes is on them. */
const isReady = (cluster: ClusterState, upgrade: Upgrade, pool: string | null): boolean => {
  const ready = stayingOf(cluster, upgrade, pool).filter((name) => cluster.nodes[name]?.ready === true);
  return ready.length >= (poolOf(upgrade, pool)?.surge ?? 0) && cluster.life === 'ready';
};

/** D2: how many of the pool may be away now. Extra nodes count while they are there and asked for. */
export const atOnceNow = (cluster: ClusterState, upgrade: Upgrade, pool: string | null): number => {
  const planned = poolOf(upgrade, pool);
  if (planned === undefined || planned.surge === 0) return planned?.atOnce ?? 1;
  const there = stayingOf(cluster, upgrade, pool).filter((name) => cluster.nodes[name] !== undefined);
  return planned.atOnce - planned.surge + (upgrade.surging.includes(planned.name) ? there.length : 0);
};

/** The pool's nodes were held or left out meanwhile: no one needs room for them. */
const nothingLeft = (upgrade: Upgrade, pool: string | null, batch: number): boolean =>
  trackedOf(upgrade).every(
    (one) => one.operation.pool !== pool || one.operation.node === null || one.operation.batch < batch || hasEnded(one),
  );

/** Extra nodes that hold pods, as far as is known: they have joined, stay, and were not emptied. */
export const extraToEmpty = (
  cluster: ClusterState,
  upgrade: Upgrade,
  { operation, state }: Tracked,
): readonly NodeName[] =>
  stayingOf(cluster, upgrade, operation.pool).filter(
    (name) => (cluster.nodes[name]?.readyRevision ?? 0) > 0 && !drainOf(state, name).emptied,
  );

/** D5, of extra nodes: whether one is left as it is or ends the rollout, it cannot be given back. */
const drainGivenUp = ({ state }: Tracked): boolean =>
  Object.values(state.drains).some(
    ({ timedOut, emptied }) => timedOut !== null && timedOut.policy !== 'force' && !emptied,
  );

/** Where an operation about extra nodes stands. */
export const surgePhase = (
  cluster: ClusterState,
  upgrade: Upgrade,
  tracked: Tracked,
): 'complete' | 'surge-failed' | 'book' | 'empty' | 'give-up' | 'give-back' | 'nodes' => {
  const { operation, state } = tracked;
  const { pool, batch, kind } = operation;
  if (kind === 'book-surge') {
    if (nothingLeft(upgrade, pool, batch)) return 'complete';
    if (state.trouble !== null) return 'surge-failed';
    if (!state.effect) return 'book';
    return isReady(cluster, upgrade, pool) ? 'complete' : 'nodes';
  }
  if (state.trouble !== null) return 'surge-failed';
  const left = extraOf(cluster, upgrade, pool);
  if (!state.effect && drainGivenUp(tracked)) return 'give-up';
  if (!state.effect && extraToEmpty(cluster, upgrade, tracked).length > 0) return 'empty';
  if (!state.effect && (left.length > 0 || upgrade.surging.includes(pool ?? ''))) return 'give-back';
  return left.length === 0 ? 'complete' : 'nodes';
};

type IsSaidOf = Pick<Tracked, 'operation'>;

export const surgeRequested = (
  { uid }: ClusterState,
  upgrade: Upgrade,
  { operation: { id: operation, pool } }: IsSaidOf,
): RolloutFact => {
  const count = poolOf(upgrade, pool)?.surge ?? 1;
  return { type: 'SurgeRequested', data: { uid, upgradeId: upgrade.id, operation, pool: pool ?? '', count } };
};

export const surgeReturned = (
  cluster: ClusterState,
  upgrade: Upgrade,
  { operation: { id: operation, pool } }: IsSaidOf,
): RolloutFact => {
  const { uid } = cluster;
  const nodes = [...extraOf(cluster, upgrade, pool)];
  return { type: 'SurgeReleased', data: { uid, upgradeId: upgrade.id, operation, pool: pool ?? '', nodes } };
};

/** Whatever ends the rollout before its end, extra nodes go with it; also those that were given back and did not go. */
export const surgesReturned = (cluster: ClusterState, upgrade: Upgrade): readonly RolloutFact[] =>
  (upgrade.plan?.pools ?? []).flatMap(({ name }) => {
    const returning = trackedOf(upgrade).findLast(
      ({ operation }) => operation.kind === 'return-surge' && operation.pool === name,
    );
    const isThere = upgrade.surging.includes(name) || extraOf(cluster, upgrade, name).length > 0;
    return returning === undefined || !isThere ? [] : [surgeReturned(cluster, upgrade, returning)];
  });

/** Extra nodes is not available: the pool goes on without them if it may have nodes away at all. What came of them goes. */
export const surgeMissed = (
  cluster: ClusterState,
  upgrade: Upgrade,
  tracked: Tracked,
  { cause, otherwise }: { readonly cause: Cause; readonly otherwise: RolloutFact },
): readonly RolloutFact[] => {
  const { id: operation, pool, kind } = tracked.operation;
  if (kind !== 'book-surge') return [otherwise];
  const returned = upgrade.surging.includes(pool ?? '') ? [surgeReturned(cluster, upgrade, tracked)] : [];
  const planned = poolOf(upgrade, pool);
  if (planned === undefined || !d2MayForgo(planned)) return [...returned, otherwise];
  const reason = `${cause.message}; ${planned.atOnce - planned.surge} at a time`;
  const ids = { uid: cluster.uid, upgradeId: upgrade.id };
  return [...returned, { type: 'SurgeSkipped', data: { ...ids, operation, pool: planned.name, reason } }];
};

/** After an end before the end no one is there to ask again, and an extra machine must not stay for ever. */
const RETURN_AGAIN_MS = 10 * 60_000;

const stuckOf = ({ life, extra }: ClusterState): readonly SurgeMachine[] =>
  life === 'deleting'
    ? []
    : Object.values(extra).filter(({ stuckSince, returnedBy }) => stuckSince !== null && returnedBy !== null);

const againAt = ({ stuckSince }: SurgeMachine): string | null =>
  stuckSince === null ? null : later(stuckSince, RETURN_AGAIN_MS);

/** When extra machines that could not be taken out are given back once more, although no rollout runs. */
export const returnsAgainAt = (cluster: ClusterState): readonly (string | null)[] => stuckOf(cluster).map(againAt);

export const returnedAgain = (cluster: ClusterState, now: string): readonly RolloutFact[] => {
  const due = stuckOf(cluster).find((machine) => (againAt(machine) ?? now) <= now);
  if (due === undefined || due.returnedBy === null) return [];
  const { upgradeId, pool, returnedBy: operation } = due;
  const nodes = Object.values(cluster.extra)
    .filter((one) => one.upgradeId === upgradeId && one.pool === pool)
    .map(({ name }) => name);
  return [{ type: 'SurgeReleased', data: { uid: cluster.uid, upgradeId, operation, pool, nodes } }];
};
