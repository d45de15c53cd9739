import type { Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { needsSnapshot, NO_SAVES, savesAfter, stepBegunIn, type EtcdSaves } from './etcd.saves.js';

const NODE = 'demo-cp-1' as NodeName;
const at = (minutes: number): string => new Date(Date.UTC(2026, 10, 29, 10, minutes)).toISOString();

const event = (type: Fact['type'], data: object = {}, minutes = 0): StoredEvent =>
  ({ type, data, meta: { time: at(minutes) } }) as unknown as StoredEvent;
const taken = (minutes: number, snapshot = `demo-${minutes}`): StoredEvent =>
  event('EtcdSnapshotTaken', { snapshot }, minutes);
const declared = (etcdSnapshotMaxAge?: string): StoredEvent =>
  event('ClusterSpecChanged', { spec: { etcdSnapshotMaxAge } });
const after = (...events: readonly StoredEvent[]): EtcdSaves => events.reduce(savesAfter, NO_SAVES);

describe('a step that changes a control plane', () => {
  it('needs an etcd snapshot if there is none, or none within the maximum age', () => {
    expect(needsSnapshot(NO_SAVES, at(0))).toBe(true);
    expect([14, 15, 16].map((minutes) => needsSnapshot(after(taken(0)), at(minutes)))).toEqual([false, false, true]);
    const hour = after(declared('1h'), taken(0));
    expect([59, 61].map((minutes) => needsSnapshot(hour, at(minutes)))).toEqual([false, true]);
    expect(needsSnapshot(after(declared('1h'), declared(), taken(0)), at(20))).toBe(true);
  });

  it('needs its own snapshot if the maximum age is 0, and is satisfied by one taken since it began', () => {
    const none = after(declared('0s'), taken(5));
    expect(needsSnapshot(none, at(6))).toBe(true);
    expect(needsSnapshot(savesAfter(none, taken(7)), at(6))).toBe(false);
  });

  it('ignores snapshots that are invalid, deleted, or older than a restore', () => {
    for (const end of [
      event('EtcdSnapshotVerificationFailed', { snapshot: 'demo-0', invalid: true }),
      event('EtcdSnapshotDeleted', { snapshot: 'demo-0', reason: 'age' }),
      event('EtcdRestored', { snapshot: 'demo-0' }),
    ])
      expect(needsSnapshot(after(taken(0), end), at(1))).toBe(true);
    const others = [
      event('EtcdSnapshotVerificationFailed', { snapshot: 'demo-0', invalid: false }),
      event('EtcdSnapshotVerificationFailed', { snapshot: 'demo-1', invalid: true }),
      event('EtcdSnapshotDeleted', { snapshot: 'demo-1', reason: 'age' }),
    ];
    expect(needsSnapshot(after(taken(0), ...others), at(1))).toBe(false);
  });

  it('begins with a join, a change of user authentication, or a reboot by an operator or a health check', () => {
    const action = { node: NODE, requestId: 'r1', action: 'reboot' };
    const ids = [
      event('ControlPlaneChangeStarted', { node: NODE, change: 'join', number: 4 }),
      event('NodeActionStarted', action),
      event('NodeActionDrained', action),
      event('RemediationRequested', action),
    ].map((one) => stepBegunIn(one)?.requestId);
    expect(new Set(ids).size).toBe(4);
    expect(ids).not.toContain(undefined);
    for (const type of ['NodeActionStarted', 'NodeActionDrained', 'RemediationRequested'] as const)
      expect(stepBegunIn(event(type, { ...action, action: 'drain' }))).toBeUndefined();
  });
});
