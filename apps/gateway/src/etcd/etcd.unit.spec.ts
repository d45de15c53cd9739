import type { Fact } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { CREATE, inLog, rowsOf, uid } from '../story.fixtures.js';
import { upgradeFact, upgradeRequested } from '../upgrades/upgrades.fixtures.js';
import { etcd, type EtcdCommand } from './etcd.decider.js';
import { etcdProjection, snapshotViews } from './etcd.projection.js';

const { given } = specification(etcd);
const named = { namespace: 'default', cluster: 'demo' };
const save: EtcdCommand = { type: 'RequestSnapshot', data: { ...named, requestId: 'r1' } };
const restore = (confirm = 'demo', snapshot = 's1', confirmVersion = ''): EtcdCommand => ({
  type: 'RequestRestore',
  data: { ...named, requestId: 'r2', snapshot, confirm, confirmVersion },
});
const saved: Fact<'EtcdSnapshotRequested'> = { type: 'EtcdSnapshotRequested', data: { uid, requestId: 'r1' } };
const asked: Fact<'EtcdRestoreRequested'> = {
  type: 'EtcdRestoreRequested',
  data: { uid, requestId: 'r2', snapshot: 's1' },
};
const taken: Fact = {
  type: 'EtcdSnapshotTaken',
  data: {
    uid,
    upgradeId: null,
    operation: null,
    requestId: 'r1',
    snapshot: 's1',
    node: 'demo-cp-1' as never,
    sha256: 'x',
    bytes: 20_000,
    revision: 7,
    keys: 3,
    dataRef: 'upgrade-svc.s1' as never,
  },
};

describe('a snapshot of etcd', () => {
  it('is asked for of a cluster that is built', () => {
    given(...CREATE)
      .when(save)
      .then(saved);
    given().when(save).thenRefused('cluster.unknown');
    given(...CREATE.slice(0, 3))
      .when(save)
      .thenRefused('cluster.not-ready');
  });
});

describe('a restore of etcd', () => {
  it('names an existing snapshot, and is confirmed by the name of the cluster (G4)', () => {
    given(...CREATE, taken)
      .when(restore())
      .then(asked);
    given(...CREATE, taken)
      .when(restore(''))
      .thenRefused('etcd.restore-unconfirmed');
    given(...CREATE, taken)
      .when(restore('demo', 's2'))
      .thenRefused('etcd.snapshot-unknown');
  });

  it('of a snapshot of another Kubernetes version is confirmed by that version, too', () => {
    const of = (kubernetesVersion: string): Fact =>
      ({ ...taken, data: { ...taken.data, kubernetesVersion, etcdVersion: '3.6.8' } }) as Fact;
    const runs = (version: string): Fact => ({
      type: 'DesiredVersionsSet',
      data: { uid, node: 'demo-cp-1' as never, revision: 2, software: { kubelet: version }, changesAllowed: true },
    });
    const upgraded = [...CREATE, of('v1.34.4'), runs('1.35.4')];
    given(...upgraded)
      .when(restore())
      .thenRefused('etcd.restore-other-version');
    given(...upgraded)
      .when(restore('demo', 's1', 'v1.35.4'))
      .thenRefused('etcd.restore-other-version');
    given(...upgraded)
      .when(restore('demo', 's1', 'v1.34.4'))
      .then(asked);
    given(...CREATE, of('v1.35.4'), runs('1.35.4'))
      .when(restore())
      .then(asked);
    given(...CREATE, taken, runs('1.35.4'))
      .when(restore())
      .then(asked);
  });

  it('never meets an upgrade, or another restore', () => {
    given(...CREATE, taken, upgradeRequested())
      .when(restore())
      .thenRefused('upgrade.open');
    given(...CREATE, taken, upgradeRequested(), upgradeFact('UpgradeRejected', { findings: [] }))
      .when(restore())
      .then(asked);
    given(...CREATE, taken, { ...asked, data: { ...asked.data, requestId: 'r0' } })
      .when(restore())
      .thenRefused('cluster.busy');
  });
});

it('shows the outcome of each request, and how old each snapshot is', () => {
  const failed: Fact = {
    type: 'EtcdRestoreFailed',
    data: { uid, requestId: 'r2', snapshot: 's1', cause: { operation: 'restore', target: 'demo-cp-1', message: 'no' } },
  };
  const history = inLog([...CREATE, saved, taken, asked, failed]);
  const [doc] = rowsOf(etcdProjection, history);
  expect(doc?.requests.map(({ what, phase, message }) => [what, phase, message])).toEqual([
    ['snapshot', 'Succeeded', ''],
    ['restore', 'Failed', 'restore on demo-cp-1 failed: no'],
  ]);
  const at = history.find(({ type }) => type === 'EtcdSnapshotTaken')?.meta.time ?? '';
  expect(doc && snapshotViews(doc, Date.parse(at) + 61_000)).toMatchObject([
    { name: 's1', ageSeconds: 61, restorable: true },
  ]);
});
