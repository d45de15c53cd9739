import type { Fact } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { bootstrap } from './bootstrap.decider.js';
import { cp, UID, desiredAfter, wholeCluster } from './bootstrap.fixtures.js';

const { given } = specification(bootstrap);
const members = [1, 2, 3].map(cp);
const fact = (type: string, data: Readonly<Record<string, unknown>> = {}): Fact =>
  ({ type, data: { uid: UID, requestId: 'e1', ...data } }) as unknown as Fact;

const started = fact('EtcdRestoreStarted', {
  snapshot: 's',
  sha256: 'a'.repeat(64),
  bytes: 1,
  members: members.map((node) => ({ node, peerUrl: 'https://198.18.7.11:2380' })),
});
const cause = { operation: 'restore etcd', target: 's', message: 'no' };
const failed = fact('EtcdRestoreFailed', { snapshot: 's', cause });
const removed = (index: number) =>
  ({ type: 'EtcdSnapshotRemoved', data: { uid: UID, node: cp(index), requestId: 'e1' } }) as const;
const removals = (...facts: readonly Fact[]): readonly string[] =>
  desiredAfter(...wholeCluster(), ...facts).filter((key) => key.startsWith('RemoveSnapshot'));

describe('the snapshot of a restore', () => {
  it('is removed from every control plane as soon as the restore has failed, and from each once', () => {
    expect(removals(started)).toEqual([]);
    expect(removals(started, failed)).toEqual(members.map((node) => `RemoveSnapshot/${node}`));
    expect(removals(started, failed, removed(1))).toEqual([`RemoveSnapshot/${cp(2)}`, `RemoveSnapshot/${cp(3)}`]);
    expect(removals(started, failed, removed(1), removed(2), removed(3))).toEqual([]);
    given(...wholeCluster(), started, failed, removed(1))
      .when(removed(1))
      .thenNothing();
  });

  it('is removed whatever step of the restore failed', () => {
    for (const step of ['stop', 'restore', 'undo', 'start', 'verify'])
      expect(removals(started, fact('EtcdRestoreAdvanced', { step, cause: null }), failed)).toHaveLength(3);
  });

  it('is kept while a restore needs it, and is left to the members after a successful restore', () => {
    expect(removals(started, fact('EtcdRestoreAdvanced', { step: 'stop', cause: null }))).toEqual([]);
    expect(removals(started, fact('EtcdRestored', { snapshot: 's' }))).toEqual([]);
    const next = { ...started, data: { ...started.data, requestId: 'e2' } } as Fact;
    expect(removals(started, failed, next)).toEqual([]);
  });
});
