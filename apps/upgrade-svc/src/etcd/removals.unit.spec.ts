import type { Fact, NodeName } from '@fairlead/contracts';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, uid } from '../nodes/nodes.fixtures.js';
import { controlPlaneRemovals, type RecordLook, type Removals } from './removals.decider.js';
import { removalsReconciler } from './removals.reconciler.js';

const NODE = 'cp-2' as NodeName;
const QUORUM = { voters: 3, healthy: 2, target: 2 };
const cause = { operation: 'remove a control plane', target: NODE, message: 'no quorum' };

const started = (attempt: number): Fact => ({
  type: 'ControlPlaneRemovalStarted',
  data: { uid, node: NODE, attempt },
});
const blocked = (attempt: number, healthy = QUORUM.healthy): Fact<'ControlPlaneRemovalBlocked'> => ({
  type: 'ControlPlaneRemovalBlocked',
  data: { uid, node: NODE, attempt, quorum: { ...QUORUM, healthy }, cause },
});
const unblocked = (attempt: number): Fact<'ControlPlaneRemovalUnblocked'> => ({
  type: 'ControlPlaneRemovalUnblocked',
  data: { uid, node: NODE, attempt },
});
const look = (fact: RecordLook['data']): RecordLook => ({ type: 'RecordLook', data: fact });

const { given } = specification(controlPlaneRemovals);

const stateAfter = (...facts: readonly Fact[]): Removals =>
  [clusterRequested(), ...facts].reduce(
    (state, fact, index) => controlPlaneRemovals.evolve(state, stored(fact, index + 1)),
    controlPlaneRemovals.initial,
  );
const desired = (...facts: readonly Fact[]): readonly string[] =>
  removalsReconciler.tasks(stateAfter(...facts), '').map(({ key }) => key);

describe('a control plane that etcd needs', () => {
  it('is prepared when its turn comes, and checked while it is blocked', () => {
    expect(desired(started(1))).toEqual(['PrepareRemoval/cp-2/1']);
    expect(desired(started(1), blocked(1))).toEqual(['WatchRemoval/cp-2/1']);
    expect(desired(started(1), blocked(1), unblocked(1))).toEqual([]);
    expect(desired(started(1), blocked(1), unblocked(1), started(2))).toEqual(['PrepareRemoval/cp-2/2']);
    expect(desired(started(1), blocked(1), started(2))).toEqual(['PrepareRemoval/cp-2/2']);
    expect(desired(started(1), blocked(1), { type: 'NodeRemoved', data: { uid, node: NODE } })).toEqual([]);
    expect(desired(started(1), blocked(1), { type: 'ClusterDeletionRequested', data: { uid } })).toEqual([]);
  });

  it('is checked with the last stated numbers, since they were first stated', () => {
    const [one] = removalsReconciler.tasks(stateAfter(started(1), blocked(1, 2), blocked(1, 1)), '');
    expect(one?.data).toMatchObject({ quorum: { healthy: 1 }, since: '2026-01-01T00:00:03.000Z' });
  });

  it('is stated as blocked or unblocked only for the attempt that was blocked', () => {
    given(clusterRequested(), started(1), blocked(1))
      .when(look(unblocked(1)))
      .then(unblocked(1));
    given(clusterRequested(), started(1), blocked(1))
      .when(look(blocked(1, 1)))
      .then(blocked(1, 1));
    given(clusterRequested(), started(1), blocked(1), started(2))
      .when(look(unblocked(1)))
      .thenNothing();
    given(clusterRequested(), started(1))
      .when(look(unblocked(1)))
      .thenNothing();
  });
});

it('uses a recent snapshot when its turn comes', () => {
  const snapshot = 'demo-r1';
  const data = {
    ...{ uid, upgradeId: null, operation: null, requestId: 'r1', snapshot, node: NODE },
    ...{ sha256: 'ab', bytes: 1, revision: 1, keys: 1, dataRef: null },
  };
  const preparing = (...facts: readonly Fact[]) => removalsReconciler.tasks(stateAfter(...facts), '')[0]?.data;
  expect(preparing(started(1))).toEqual({ uid, node: NODE, attempt: 1 });
  expect(preparing({ type: 'EtcdSnapshotTaken', data }, started(1))).toEqual({ uid, node: NODE, attempt: 1, snapshot });
});
