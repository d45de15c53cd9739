import type { Fact, NodeName, UpgradeId } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, otherUid, SOFTWARE_1_34, uid, vmsCreated } from '../nodes/nodes.fixtures.js';
import { desiredReconciler } from './desired.reconciler.js';

const { decider } = desiredReconciler;

/** The tasks that are desired after the facts, without names and reasons. */
const tasksAfter = (...facts: readonly Fact[]) => {
  const events = facts.map((fact, index) => stored(fact, index + 1));
  const state = events.reduce((before, event) => decider.evolve(before, event), decider.initial);
  return desiredReconciler.tasks(state, '').map(({ type, data }) => ({ type, data }));
};

describe('the versions of new machines', () => {
  it('are set once all of them run, at the requested version [Cluster API 5]', () => {
    expect(tasksAfter(clusterRequested(), vmsCreated(uid, 'demo-cp-1-aaaaa', 'demo-w-1-aaaaa'))).toEqual([
      {
        type: 'SetDesiredVersions',
        data: { uid, nodes: ['demo-cp-1-aaaaa', 'demo-w-1-aaaaa'], version: 'v1.34.4', software: {} },
      },
    ]);
  });

  it('are set again for machines that are added later', () => {
    const tasks = tasksAfter(clusterRequested(), vmsCreated(uid, 'demo-w-1-aaaaa'), vmsCreated(uid, 'demo-w-2-aaaaa'));
    expect(tasks.map(({ data }) => data['nodes'])).toEqual([['demo-w-1-aaaaa'], ['demo-w-2-aaaaa']]);
  });

  it('are requested until every remaining machine has them [Cluster API 3]', () => {
    const [one, other] = ['demo-w-1-aaaaa', 'demo-w-2-aaaaa'] as [NodeName, NodeName];
    const made = [clusterRequested(), vmsCreated(uid, one, other)];
    const set: Fact = {
      type: 'DesiredVersionsSet',
      data: { uid, node: one, revision: 1, software: SOFTWARE_1_34, changesAllowed: true },
    };
    expect(tasksAfter(...made, set)).toMatchObject([{ data: { nodes: [other] } }]);
    const deleted = { type: 'VmDeleted', data: { uid, name: other } } as unknown as Fact;
    expect(tasksAfter(...made, set, deleted)).toEqual([]);
  });

  it('are those of a corrected request', () => {
    const { spec, requestHash } = clusterRequested(uid, 'v1.33.13').data;
    const corrected: Fact = { type: 'ClusterRetryRequested', data: { uid, correction: { spec, requestHash } } };
    expect(tasksAfter(clusterRequested(), corrected, vmsCreated(uid, 'demo-w-1-aaaaa'))).toMatchObject([
      { data: { nodes: ['demo-w-1-aaaaa'], version: 'v1.33.13', software: {} } },
    ]);
  });

  it('are not set for a deleted cluster', () => {
    const gone: Fact = { type: 'ClusterDeleted', data: { uid } };
    expect(tasksAfter(clusterRequested(), gone, vmsCreated(uid, 'demo-w-1-aaaaa'))).toEqual([]);
  });

  it('are those of the current cluster if its name was used before', () => {
    const gone: Fact = { type: 'ClusterDeleted', data: { uid } };
    const again = clusterRequested(otherUid, 'v1.33.13');
    const late = vmsCreated(uid, 'demo-w-1-aaaaa');
    const tasks = tasksAfter(clusterRequested(), gone, again, late, vmsCreated(otherUid, 'demo-w-1-bbbbb'));
    expect(tasks).toMatchObject([
      { data: { uid: otherUid, nodes: ['demo-w-1-bbbbb'], version: 'v1.33.13', software: {} } },
    ]);
  });

  it('include a permission that expires, so that nothing has to be withdrawn', () => {
    const set: Fact = {
      type: 'DesiredVersionsSet',
      data: {
        uid,
        node: 'demo-w-1-aaaaa' as NodeName,
        revision: 1,
        software: SOFTWARE_1_34,
        changesAllowed: true,
        changesAllowedUntil: 'NodeReady',
      },
    };
    expect(tasksAfter(clusterRequested(), set, { type: 'ClusterReady', data: { uid } })).toEqual([]);
  });

  it('of an earlier release may be changed by agents until the cluster is Ready, and no longer', () => {
    const set = (name: string, revision: number, changesAllowed: boolean): Fact => ({
      type: 'DesiredVersionsSet',
      data: { uid, node: name as NodeName, revision, software: SOFTWARE_1_34, changesAllowed },
    });
    const ready: Fact = { type: 'ClusterReady', data: { uid } };
    const names = ['demo-w-1-aaaaa', 'demo-w-2-aaaaa'];
    const made = [clusterRequested(), ...names.map((name) => set(name, 1, true)), ready];
    expect(tasksAfter(...made)).toEqual([{ type: 'WithdrawPermissions', data: { uid, nodes: names } }]);
    const withdrawn = names.map((name) => set(name, 2, false));
    expect(tasksAfter(...made, ...withdrawn, ready)).toEqual([]);
  });

  it('may be changed by agents of nodes that could not join and are kept, until a retry has made them Ready', () => {
    const kept = 'demo-w-2-aaaaa' as NodeName;
    const set: Fact = {
      type: 'DesiredVersionsSet',
      data: { uid, node: kept, revision: 1, software: SOFTWARE_1_34, changesAllowed: true },
    };
    const failed: Fact = {
      type: 'NodesFailed',
      data: {
        uid,
        requestId: 'r1',
        nodes: [kept],
        onFailure: 'keep',
        step: 'JoinWorker',
        reason: 'R',
        cause: { operation: 'kubeadm join', target: kept, message: 'no' },
      },
    };
    const ready: Fact = { type: 'ClusterReady', data: { uid } };
    const waiting = [clusterRequested(), set, failed, ready];
    expect(tasksAfter(...waiting)).toEqual([]);
    const retried: Fact = { type: 'ClusterRetryRequested', data: { uid } };
    expect(tasksAfter(...waiting, retried, ready)).toEqual([
      { type: 'WithdrawPermissions', data: { uid, nodes: [kept] } },
    ]);
  });

  it('are those of the control planes after an upgrade [Cluster API 5]', () => {
    const upgradeId = 'u-8f3k2m9q';
    const operations = [{ id: 'op-05', kind: 'addons', to: { kubernetes: 'v1.35.4' } }];
    const planned = { type: 'UpgradePlanned', data: { uid, plan: { upgradeId, operations } } } as unknown as Fact;
    const done = { type: 'OperationCompleted', data: { uid, upgradeId, operation: 'op-05' } } as unknown as Fact;
    expect(tasksAfter(clusterRequested(), planned, done, vmsCreated(uid, 'demo-w-1-aaaaa'))).toMatchObject([
      { data: { version: 'v1.35.4', software: {} } },
    ]);
  });

  it('of surge machines are the target of their upgrade, with its other packages', () => {
    const upgradeId = 'u-8f3k2m9q' as UpgradeId;
    const booking = { id: 'op-06', kind: 'book-surge', to: { containerd: '1.7.27' } };
    const planned = {
      type: 'UpgradePlanned',
      data: { uid, plan: { upgradeId, operations: [booking] } },
    } as unknown as Fact;
    const asked: Fact = { type: 'SurgeRequested', data: { uid, upgradeId, operation: 'op-06', pool: 'w', count: 1 } };
    const extra = vmsCreated(uid, 'demo-w-9-aaaaa');
    const marked = {
      ...extra,
      data: { ...extra.data, machines: extra.data.machines.map((one) => ({ ...one, surge: upgradeId })) },
    };
    expect(tasksAfter(clusterRequested(), planned, asked, marked, vmsCreated(uid, 'demo-w-2-aaaaa'))).toMatchObject([
      { data: { nodes: ['demo-w-9-aaaaa'], version: 'v1.34.4', software: { containerd: '1.7.27' } } },
      { data: { nodes: ['demo-w-2-aaaaa'], version: 'v1.34.4', software: {} } },
    ]);
  });

  it('of a pool whose nodes are replaced for another version are that version, with its other packages, until the upgrade is over', () => {
    const upgradeId = 'u-8f3k2m9q' as UpgradeId;
    const asked = {
      type: 'PoolReplacementRequested',
      data: { uid, upgradeId, pool: 'w', version: 'v1.35.4', software: { containerd: '1.7.27' } },
    } as unknown as Fact;
    const over = { type: 'RolloutAborted', data: { uid, upgradeId, leftFailed: [] } } as unknown as Fact;
    const ofOtherPool = vmsCreated(uid, 'demo-x-1-aaaaa');
    const machines = ofOtherPool.data.machines.map((one) => ({ ...one, pool: 'x' }));
    expect(
      tasksAfter(
        ...[clusterRequested(), asked, vmsCreated(uid, 'demo-w-8-aaaaa')],
        ...[{ ...ofOtherPool, data: { ...ofOtherPool.data, machines } }, over, vmsCreated(uid, 'demo-w-9-aaaaa')],
      ),
    ).toMatchObject([
      { data: { nodes: ['demo-w-8-aaaaa'], version: 'v1.35.4', software: { containerd: '1.7.27' } } },
      { data: { nodes: ['demo-x-1-aaaaa'], version: 'v1.34.4', software: {} } },
      { data: { nodes: ['demo-w-9-aaaaa'], version: 'v1.34.4', software: {} } },
    ]);
  });
});
