import {
  type ClusterUid,
  type DeclaredSpec,
  type EtcdBackups,
  type Fact,
  type NodeName,
  type UpgradeId,
} from '@fairlead/contracts';
import { later, reconcilerDecider, reconcilerProcess, type TaskRef } from '@fairlead/event-sourcing';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, uid } from '../nodes/nodes.fixtures.js';
import { backups } from './backups.decider.js';
import { expired, nextMoment, nextRun } from './backups.planner.js';
import { backupsReconciler } from './backups.reconciler.js';
import type { Backups } from './backups.state.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const reconciler = backupsReconciler({ othersKept: 2 });
const retention = { othersKept: 2 };
/** Before the run at 06:00. */
const BEGIN = '2026-01-01T05:30:00.000Z';
const SIX = '2026-01-01T06:00:00.000Z';
const POLICY: EtcdBackups = { schedule: '0 */6 * * *', keep: 2, verify: false };

const at = (time: string, fact: Fact, seq = 1) => {
  const event = stored(fact, seq);
  return { ...event, meta: { ...event.meta, time } };
};
const changed = (etcdBackups: EtcdBackups | undefined): Fact =>
  ({
    type: 'ClusterSpecChanged',
    data: { uid, revision: 1, spec: { etcdBackups } as DeclaredSpec },
  }) as unknown as Fact;
const ready: Fact = { type: 'ClusterReady', data: { uid } };
const saved = (snapshot: string, more: Partial<Fact<'EtcdSnapshotTaken'>['data']> = {}): Fact<'EtcdSnapshotTaken'> => ({
  type: 'EtcdSnapshotTaken',
  data: {
    ...{ uid, upgradeId: null, operation: null, requestId: null, snapshot, node: 'demo-cp-1' as NodeName },
    ...{ sha256: 'ab', bytes: 1, revision: 1, keys: 1, dataRef: null, scheduledAt: SIX, ...more },
  },
});
const verified = (snapshot: string): Fact => ({
  type: 'EtcdSnapshotVerified',
  data: { uid, snapshot, node: 'demo-cp-1' as NodeName, revision: 1, keys: 1, objects: 1, hash: 1 },
});
const cause = { operation: 'verify a snapshot of etcd', target: 's', message: 'expected sha256' };
const notVerified = (snapshot: string, invalid: boolean): Fact => ({
  type: 'EtcdSnapshotVerificationFailed',
  data: { uid, snapshot, invalid, cause },
});

type Moment = readonly [time: string, fact: Fact];
const stateAfter = (...moments: readonly Moment[]): Backups =>
  moments.reduce((state, [time, fact]) => backups.evolve(state, at(time, fact)), backups.initial);
const begun = (policy = POLICY): readonly Moment[] => [
  [BEGIN, clusterRequested()],
  [BEGIN, changed(policy)],
  [BEGIN, ready],
];
const keysAt = (state: Backups, now: string) => reconciler.tasks(state, now).map(({ key }) => key);
const dueOf = (state: Backups): string => nextRun(state)?.dueAt ?? '';

describe('scheduled etcd snapshots', () => {
  it('are due at each run, delayed depending on the UID of the cluster, and not before', () => {
    const state = stateAfter(...begun());
    const dueAt = dueOf(state);
    expect(nextRun(state)?.scheduledAt).toBe(SIX);
    expect(dueAt >= SIX && dueAt < later(SIX, 30 * MINUTE_MS)).toBe(true);
    expect(nextMoment(state, BEGIN)).toBe(dueAt);
    expect(keysAt(state, later(dueAt, -1))).toEqual([]);
    expect(keysAt(state, dueAt)).toEqual([`BackUpEtcd/${SIX}`]);
  });

  it('of 1,000 clusters are spread over half an hour, and never precede their run', () => {
    const uids = Array.from(
      { length: 1_000 },
      (_, index) => `${((index * 4_294_967) % 2 ** 32).toString(16).padStart(8, '0')}-x`,
    );
    const minutes = uids.map((one) => {
      const { dueAt = '' } = nextRun({ ...stateAfter(...begun()), uid: one as ClusterUid }) ?? {};
      return Math.floor((Date.parse(dueAt) - Date.parse(SIX)) / MINUTE_MS);
    });
    expect(Math.min(...minutes)).toBe(0);
    expect(Math.max(...minutes)).toBe(29);
    const busiest = Math.max(
      ...Array.from({ length: 30 }, (_, minute) => minutes.filter((one) => one === minute).length),
    );
    expect(busiest).toBeLessThanOrEqual(40);
  });

  it('that were missed are made up once, however many they were', () => {
    const late = later(SIX, 49 * HOUR_MS);
    const missed = stateAfter(...begun());
    expect(keysAt(missed, late)).toEqual([`BackUpEtcd/${SIX}`]);
    const done = stateAfter(...begun(), [late, saved('s1')]);
    expect(keysAt(done, later(late, MINUTE_MS))).toEqual([]);
    expect(nextRun(done)?.scheduledAt).toBe('2026-01-03T12:00:00.000Z');
  });

  it('are not taken before the cluster is ready, during an etcd restore, and during deletion', () => {
    const late = later(SIX, HOUR_MS);
    expect(keysAt(stateAfter(...begun().slice(0, 2)), late)).toEqual([]);
    const restore: Moment = [BEGIN, { type: 'EtcdRestoreRequested', data: { uid, requestId: 'r', snapshot: 's' } }];
    const restored: Moment = [SIX, { type: 'EtcdRestored', data: { uid, requestId: 'r', snapshot: 's' } }];
    expect(keysAt(stateAfter(...begun(), restore), late)).toEqual([]);
    expect(keysAt(stateAfter(...begun(), restore, restored), late)).toEqual([`BackUpEtcd/${SIX}`]);
    const deletion: Moment = [BEGIN, { type: 'ClusterDeletionRequested', data: { uid } } as Fact];
    expect(keysAt(stateAfter(...begun(), deletion), late)).toEqual([]);
  });

  it('are not taken while the cluster is paused, and a missed one is made up afterwards', () => {
    const process = reconcilerProcess(reconciler);
    const moments: readonly Moment[] = [
      ...begun(),
      [BEGIN, { type: 'ClusterPaused', data: { uid, reason: 'x' } } as Fact],
    ];
    const resumed: Moment = [later(SIX, 20 * HOUR_MS), { type: 'ClusterResumed', data: { uid } } as Fact];
    const fold = (some: readonly Moment[]) =>
      some.reduce(
        (state, [time, fact], index) => process.evolve(state, at(time, fact, index + 1)) ?? process.initial,
        process.initial,
      );
    expect(fold(moments)).toMatchObject({ desired: [], wakeAt: null });
    expect(fold([...moments, resumed]).desired).toEqual([`BackUpEtcd/${SIX}`]);
  });

  it('restart with a changed schedule, and an unchanged one has no effect', () => {
    const dueBefore = dueOf(stateAfter(...begun()));
    const noon = later(SIX, 5 * HOUR_MS);
    expect(dueOf(stateAfter(...begun(), [noon, changed({ ...POLICY, keep: 5 })]))).toBe(dueBefore);
    expect(nextRun(stateAfter(...begun(), [noon, changed({ ...POLICY, schedule: '0 */4 * * *' })]))?.scheduledAt).toBe(
      '2026-01-01T12:00:00.000Z',
    );
    expect(nextRun(stateAfter(...begun(), [noon, changed(undefined)]))).toBeNull();
  });

  it('that fail are stated after the last attempt, and the next run is tried', () => {
    const state = stateAfter(...begun());
    const due = dueOf(state);
    const ref: TaskRef = { reconciler: 'etcd-backups', generation: uid, key: `BackUpEtcd/${SIX}`, seq: 2, now: due };
    const failure = { cause, attempt: 5, attemptsMax: 5, nextAttemptAt: null, now: due };
    const { decide } = reconcilerDecider(reconciler);
    const failed: Fact = { type: 'EtcdBackupFailed', data: { uid, scheduledAt: SIX, cause } };
    expect(decide({ state }, { type: 'RecordFailure', data: { ref, failure } })).toEqual([failed]);
    const retry = { ...failure, attempt: 1, nextAttemptAt: later(due, MINUTE_MS) };
    expect(decide({ state }, { type: 'RecordFailure', data: { ref, failure: retry } })).toEqual([]);
    expect(nextRun(stateAfter(...begun(), [due, failed]))?.scheduledAt).toBe('2026-01-01T12:00:00.000Z');
  });

  it('are stated once per run', () => {
    const { given } = specification(backups);
    const run = nextRun(
      [clusterRequested(), changed(POLICY), ready].reduce(
        (state, fact, index) => backups.evolve(state, stored(fact, index + 1)),
        backups.initial,
      ),
    );
    const taken = saved('s1', { scheduledAt: run?.scheduledAt });
    const record = { type: 'RecordBackup' as const, data: taken.data };
    given(clusterRequested(), changed(POLICY), ready).when(record).then(taken);
    given(clusterRequested(), changed(POLICY), ready, taken).when(record).thenNothing();
  });
});

describe('the retention of snapshots', () => {
  const hours = (count: number): string => later(SIX, count * HOUR_MS);
  const four: readonly Moment[] = [1, 2, 3, 4].map((hour) => [hours(hour), saved(`s${hour}`)]);
  const namesAt = (now: string, ...moments: readonly Moment[]) =>
    expired(stateAfter(...moments), now, retention).map(({ name, reason }) => `${name} ${reason}`);

  it('keeps the newest scheduled ones by count, and deletes each of the others once', () => {
    expect(namesAt(hours(5), ...begun(), ...four)).toEqual(['s1 count', 's2 count']);
    const deleted: Moment = [hours(5), { type: 'EtcdSnapshotDeleted', data: { uid, snapshot: 's1', reason: 'count' } }];
    expect(namesAt(hours(5), ...begun(), ...four, deleted)).toEqual(['s2 count']);
  });

  it('deletes expired ones on time, and never the last usable one', () => {
    const policy = { ...POLICY, keep: 10, keepFor: '2h' };
    const state = stateAfter(...begun(policy), ...four);
    expect(namesAt(hours(4.5), ...begun(policy), ...four)).toEqual(['s1 age', 's2 age']);
    expect(namesAt(hours(100), ...begun(policy), ...four)).toEqual(['s1 age', 's2 age', 's3 age']);
    expect(nextMoment({ ...state, policy: { ...policy, schedule: '0 0 1 1 *' } }, hours(4.5))).toBe(later(hours(5), 1));
  });

  it('keeps the last verified one next to newer unverified ones, and discards invalid ones', () => {
    const checks: readonly Moment[] = [
      [hours(1), verified('s1')],
      [hours(4), notVerified('s3', true)],
      [hours(4), notVerified('s4', true)],
    ];
    expect(namesAt(hours(5), ...begun(), ...four, ...checks)).toEqual([]);
    expect(
      namesAt(hours(6), ...begun(), ...four, ...checks, [hours(5), saved('s5')], [hours(5), verified('s5')]),
    ).toEqual(['s1 count', 's2 count', 's3 count']);
    // A failed attempt at a verification is not evidence against a snapshot.
    expect(
      namesAt(hours(6), ...begun(), ...four, [hours(5), verified('s1')], [hours(5), notVerified('s1', false)]),
    ).toEqual(['s2 count']);
  });

  it('waits for the end of a verification, a restore or an upgrade that needs a snapshot', () => {
    const open: readonly Moment[] = [1, 2, 3, 4].map((hour) => [
      hours(hour),
      saved(`s${hour}`, { verify: hour === 1 }),
    ]);
    expect(namesAt(hours(5), ...begun(), ...open)).toEqual(['s2 count']);
    const restore: Moment = [hours(5), { type: 'EtcdRestoreRequested', data: { uid, requestId: 'r', snapshot: 's2' } }];
    expect(namesAt(hours(5), ...begun(), ...four, restore)).toEqual(['s1 count']);
    const upgradeId = 'u-1' as UpgradeId;
    const rollout: Moment = [hours(0), { type: 'RolloutStarted', data: { uid, upgradeId, planHash: '' } }];
    const others = [1, 2, 3, 4].map((hour): Moment => [
      hours(hour),
      saved(`o${hour}`, { scheduledAt: undefined, upgradeId }),
    ]);
    expect(namesAt(hours(5), ...begun(), rollout, ...others)).toEqual([]);
    const over: Moment = [hours(5), { type: 'RolloutCompleted', data: { uid, upgradeId } } as Fact];
    expect(namesAt(hours(5), ...begun(), rollout, ...others, over)).toEqual(['o1 count', 'o2 count']);
  });

  it('counts unscheduled ones separately, by the setting of the service, also without a schedule', () => {
    const others = [1, 2, 3].map((hour): Moment => [hours(hour), saved(`o${hour}`, { scheduledAt: undefined })]);
    expect(namesAt(hours(5), ...begun(), ...others, ...four)).toEqual(['o1 count', 's1 count', 's2 count']);
    expect(namesAt(hours(5), begun()[0] as Moment, ...others, ...four)).toEqual(['o1 count']);
  });
});
