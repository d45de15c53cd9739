import type { Fact, NodeName } from '@fairlead/contracts';
import { reconcilerDecider, reconcilerProcess, type TaskRef } from '@fairlead/event-sourcing';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, planOf, uid } from '../nodes/nodes.fixtures.js';
import { requestedSnapshots } from './snapshots.decider.js';
import { snapshotsReconciler } from './snapshots.reconciler.js';

const { given } = specification(requestedSnapshots);
const REQUEST = 'r1';
const requested: Fact = { type: 'EtcdSnapshotRequested', data: { uid, requestId: REQUEST } };
const taken: Fact<'EtcdSnapshotTaken'> = {
  type: 'EtcdSnapshotTaken',
  data: {
    ...{ uid, upgradeId: null, operation: null, requestId: REQUEST, snapshot: 'demo-r1' },
    ...{ node: 'demo-cp-1' as NodeName, sha256: 'ab', bytes: 1, revision: 1, keys: 1, dataRef: null },
  },
};
const gone: Fact = { type: 'ClusterDeleted', data: { uid } };

const stateAfter = (...facts: readonly Fact[]) =>
  facts.reduce(
    (state, fact, index) => requestedSnapshots.evolve(state, stored(fact, index + 1)),
    requestedSnapshots.initial,
  );
const desired = (...facts: readonly Fact[]) =>
  snapshotsReconciler.tasks(stateAfter(clusterRequested(), ...facts), '').map(({ key }) => key);

describe('a snapshot of etcd that a user requests', () => {
  it('is desired until it is taken or has failed', () => {
    expect(desired(requested)).toEqual([`SaveEtcd/${REQUEST}`]);
    expect(desired(requested, taken)).toEqual([]);
  });

  it('is stated once', () => {
    const record = { type: 'RecordRequested' as const, data: taken };
    given(clusterRequested(), requested).when(record).then(taken);
    given(clusterRequested(), requested, taken).when(record).thenNothing();
  });

  it('fails with the cause of its last attempt, and is not desired afterwards', () => {
    const cause = { operation: 'reach the Kubernetes API', target: 'demo', message: 'no route to host' };
    const ref: TaskRef = { reconciler: 'etcd-snapshots', generation: uid, key: `SaveEtcd/${REQUEST}`, seq: 2, now: '' };
    const failure = { cause, attempt: 1, attemptsMax: 1, nextAttemptAt: null, now: '' };
    const state = stateAfter(clusterRequested(), requested);
    const { decide } = reconcilerDecider(snapshotsReconciler);
    const failed: Fact = { type: 'EtcdSnapshotFailed', data: { uid, requestId: REQUEST, cause } };
    expect(decide({ state }, { type: 'RecordFailure', data: { ref, failure } })).toEqual([failed]);
    expect(desired(requested, failed)).toEqual([]);
  });

  it('is withdrawn with its cluster, whose existing snapshots are destroyed', () => {
    expect(stateAfter(clusterRequested(), requested, gone)).toBe(requestedSnapshots.initial);
    const process = reconcilerProcess(snapshotsReconciler);
    const state = process.evolve(process.initial, stored(gone, 3)) ?? process.initial;
    expect(process.react(state, stored(gone, 3))).toMatchObject([
      { type: 'ForgetSnapshots', data: { followUp: { data: { uid } } } },
    ]);
  });
});

describe('a snapshot of etcd before a control plane changes', () => {
  const node = 'demo-cp-1' as NodeName;
  const planned: Fact = { type: 'VmsPlanned', data: { uid, machines: [{ ...planOf(node), role: 'control-plane' }] } };
  const about = { uid, node, requestId: 'a1', action: 'reboot' } as const;
  const rebooting: Fact = { type: 'NodeActionStarted', data: about };
  const joining: Fact = { type: 'ControlPlaneChangeStarted', data: { uid, node, change: 'join', number: 3 } };
  const savedFor = (requestId: string): Fact<'EtcdSnapshotTaken'> => ({ ...taken, data: { ...taken.data, requestId } });

  it('is desired when a join or a reboot begins, and one of them serves all waiting steps', () => {
    expect(desired(planned, joining)).toEqual(['SaveBeforeStep/change-3']);
    expect(desired(planned, joining, rebooting)).toEqual(['SaveBeforeStep/change-3']);
    expect(desired(planned, joining, rebooting, savedFor('change-3'))).toEqual([]);
  });

  it('is not desired if there is a recent one, nor for a worker', () => {
    expect(desired(planned, taken, joining, rebooting)).toEqual([]);
    const worker: Fact = { type: 'VmsPlanned', data: { uid, machines: [{ ...planOf(node), role: 'worker' }] } };
    expect(desired(worker, rebooting)).toEqual([]);
  });

  it('is stated once, and abandoned after it has failed', () => {
    const record = { type: 'RecordRequested' as const, data: savedFor('change-3') };
    given(clusterRequested(), planned, joining).when(record).then(record.data);
    given(clusterRequested(), planned, joining, record.data).when(record).thenNothing();
    const cause = { operation: 'save etcd', target: 'demo', message: 'no' };
    const failed: Fact = { type: 'EtcdSnapshotFailed', data: { uid, requestId: 'change-3', cause } };
    expect(desired(planned, joining, rebooting, failed)).toEqual(['SaveBeforeStep/a1-demo-cp-1-start']);
  });
});
