import type { EtcdBackups, Fact } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { backupsAfter, isAboutBackups, type BackupsDoc } from './backups.evolve.js';

const POLICY: EtcdBackups = { schedule: '0 */6 * * *', keep: 2, verify: true };
const uid = 'u';
const at = (minute: number): string => `2026-01-01T06:${String(minute).padStart(2, '0')}:00.000Z`;
const fact = (type: string, data: object): Fact => ({ type, data: { uid, ...data } }) as unknown as Fact;

const declared = (etcdBackups: EtcdBackups | undefined): Fact => fact('ClusterSpecChanged', { spec: { etcdBackups } });
const taken = (snapshot: string, more: object = { verify: true }): Fact =>
  fact('EtcdSnapshotTaken', { snapshot, scheduledAt: at(0), ...more });
const verified = (snapshot: string): Fact => fact('EtcdSnapshotVerified', { snapshot });
const cause = { operation: 'verify a snapshot of etcd', target: 's', message: 'it does not open' };
const notVerified = (snapshot: string, invalid = true): Fact =>
  fact('EtcdSnapshotVerificationFailed', { snapshot, invalid, cause });
const deleted = (snapshot: string): Fact => fact('EtcdSnapshotDeleted', { snapshot, reason: 'count' });
const notTaken = fact('EtcdBackupFailed', { scheduledAt: at(0), cause: { ...cause, operation: 'save etcd' } });

/** Each a minute after the one before. */
const after = (...facts: readonly Fact[]): BackupsDoc | undefined =>
  facts.reduce<BackupsDoc | undefined>((doc, one, minute) => {
    const event = stored(one, minute + 1);
    return backupsAfter(doc, { ...event, meta: { ...event.meta, time: at(minute) } });
  }, undefined);

const NOT_VERIFIED = 'verify a snapshot of etcd on s failed: it does not open';
const begun = { policy: POLICY, since: at(0) };

describe('how snapshots by schedule are', () => {
  it('is known of clusters with a schedule only', () => {
    expect(after(taken('s1'), verified('s1'))).toBeUndefined();
    expect(after(declared(POLICY))).toEqual(begun);
    expect(after(declared(POLICY), taken('s1'), declared(undefined))).toBeUndefined();
  });

  it('begins again with another schedule, and goes on with the same one', () => {
    expect(after(declared(POLICY), declared({ ...POLICY, keep: 5 }))).toEqual({
      ...begun,
      policy: { ...POLICY, keep: 5 },
    });
    const other = { ...POLICY, schedule: '0 0 * * *' };
    expect(after(declared(POLICY), declared(other))).toEqual({ policy: other, since: at(1) });
  });

  it('counts a snapshot as good once it is verified, or at once where none is verified', () => {
    const latest = { snapshot: 's1', takenAt: at(1) };
    expect(after(declared(POLICY), taken('s1'))).toEqual({ ...begun, latest });
    const good = { ...begun, latest, lastGoodAt: at(1), good: [latest] };
    expect(after(declared(POLICY), taken('s1'), verified('s1'))).toEqual(good);
    expect(after(declared(POLICY), taken('s1'), verified('s1'), verified('s1'))).toEqual(good);
    expect(after(declared(POLICY), taken('s1', {}))).toEqual(good);
  });

  it('does not depend on snapshots that were taken by command, or before a change', () => {
    const others = taken('c1', { scheduledAt: undefined });
    expect(after(declared(POLICY), others, verified('c1'), notVerified('c1'))).toEqual(begun);
  });

  it('is a failure since the first attempt that failed, until a snapshot is taken', () => {
    const failed = { what: 'snapshot', message: 'save etcd on s failed: it does not open', since: at(1) };
    expect(after(declared(POLICY), notTaken)).toEqual({ ...begun, failed });
    expect(after(declared(POLICY), notTaken, notTaken)).toEqual({ ...begun, failed });
    expect(after(declared(POLICY), notTaken, taken('s1'))).not.toHaveProperty('failed');
  });

  it('is a failure where a snapshot is not verified, until a later one is', () => {
    const failed = { what: 'verification', message: NOT_VERIFIED, since: at(2) };
    const moments = [declared(POLICY), taken('s1'), notVerified('s1')];
    expect(after(...moments)).toMatchObject({ failed });
    expect(after(...moments, taken('s2'))).toMatchObject({ failed, latest: { snapshot: 's2' } });
    expect(after(...moments, taken('s2'), verified('s1'))).toMatchObject({ failed });
    expect(after(...moments, taken('s2'), verified('s2'))).not.toHaveProperty('failed');
    expect(after(...moments, taken('s2'), verified('s2'))).toMatchObject({ lastGoodAt: at(3) });
  });

  it('no longer counts a snapshot as good that a later verification finds invalid', () => {
    const first = [declared(POLICY), taken('s1'), verified('s1')];
    expect(after(...first, notVerified('s1'))).not.toHaveProperty('lastGoodAt');
    const second = [...first, taken('s2'), verified('s2')];
    expect(after(...second)).toMatchObject({ lastGoodAt: at(3) });
    expect(after(...second, notVerified('s2'))).toMatchObject({ lastGoodAt: at(1), failed: { what: 'verification' } });
    expect(after(...second, deleted('s1'), notVerified('s2'))).not.toHaveProperty('lastGoodAt');
    expect(after(...second, notVerified('s1'))).toMatchObject({ lastGoodAt: at(3), good: [{ snapshot: 's2' }] });
    // One that could not be tried takes nothing from a snapshot.
    expect(after(...second, notVerified('s2', false))).toMatchObject({ lastGoodAt: at(3) });
  });

  it('follows from events of snapshots, which concern nothing else of a cluster', () => {
    const types = [taken('s1'), verified('s1'), notVerified('s1'), notTaken, deleted('s1')].map((one) =>
      isAboutBackups(stored(one, 1)),
    );
    expect([...types, isAboutBackups(stored(declared(POLICY), 1))]).toEqual([true, true, true, true, true, false]);
  });
});
