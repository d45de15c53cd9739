import type { VerifySnapshotResult } from '@fairlead/node-scripts';
import { describe, expect, it } from '@jest/globals';
import type { Host } from '../bootstrap/bootstrap.state.js';
import { verdictOf, verifierOf } from './verification.rules.js';

const SAVED = { snapshot: 'demo-1', sha256: 'a'.repeat(64), bytes: 4_096, revision: 500, keys: 90 };
const GOOD: VerifySnapshotResult = {
  problem: null,
  status: { hash: 7, revision: 500, totalKey: 90 },
  revision: 501,
  objects: 80,
};

const verdict = (change: Partial<VerifySnapshotResult>): ReturnType<typeof verdictOf> =>
  verdictOf(SAVED, { ...GOOD, ...change });
const failed = (problem: string): ReturnType<typeof verdictOf> =>
  verdict({ problem, status: null, revision: null, objects: null });

describe('the verdict on a snapshot of etcd', () => {
  it('is valid if the temporary etcd has the saved state', () => {
    expect(verdict({})).toEqual({ kind: 'valid', said: { revision: 501, keys: 90, objects: 80, hash: 7 } });
    expect(verdict({ revision: 500 }).kind).toBe('valid');
  });

  it.each([
    [
      'another revision',
      { status: { hash: 7, revision: 499, totalKey: 90 } },
      'it has revision 499, and it was saved at 500',
    ],
    ['fewer keys', { status: { hash: 7, revision: 500, totalKey: 89 } }, 'it has 89 keys, and 90 were saved'],
    ['an earlier revision after its restore', { revision: 499 }, 'it has revision 499 after its restore'],
    ['no objects of Kubernetes', { objects: 0 }, 'it has no objects of Kubernetes'],
    [
      'several differences',
      { status: { hash: 7, revision: 1, totalKey: 2 }, objects: 0 },
      'it has revision 1, and it was saved at 500; 2 keys, and 90 were saved; no objects of Kubernetes',
    ],
  ])('is invalid with %s, and reports the difference', (_, change, message) => {
    expect(verdict(change)).toEqual({ kind: 'invalid', message });
  });

  // Recorded from etcdutl and etcd of 3.5 and 3.6, or panics of bbolt.
  it.each([
    'Error: expected sha256 [1 2 3], got [4 5 6]',
    'Error: snapshot missing hash but --skip-hash-check=false; checksum does not match',
    'Error: invalid database',
    'panic: page 17: invalid page type: 0: 0',
    'unexpected fault address 0x7f0000000000',
    'mvcc: database file is corrupt',
  ])('is invalid if the database is damaged: %s', (problem) => {
    expect(failed(problem)).toEqual({ kind: 'invalid', message: problem });
  });

  it.each([
    'no space left on device',
    'the scratch etcd does not answer',
    'the scratch etcd has ended',
    'the unit ended with exit code 137: its limits are 512 MiB of memory and 1200 s',
    'this host has no etcd',
    'context deadline exceeded',
  ])('is unknown if the attempt does not concern the snapshot: %s', (problem) => {
    expect(failed(problem)).toEqual({ kind: 'unknown', message: problem });
  });

  it.each([{ status: null }, { revision: null }, { objects: null }])(
    'is unknown if an answer is missing: %j',
    (missing) => {
      expect(verdict(missing)).toEqual({ kind: 'unknown', message: 'the scratch etcd did not say what it has' });
    },
  );
});

const host = (name: string, change: Partial<Host> = {}): Host =>
  ({ machine: { name }, joinedAt: '2026-01-01T00:00:00.000Z', removal: 'none', failed: false, ...change }) as Host;
const silent = { silence: { since: '2026-01-01T00:00:00.000Z' } } as unknown as Partial<Host>;

describe('the control plane that verifies a snapshot', () => {
  const names = (hosts: readonly Host[]): readonly (string | undefined)[] =>
    [1, 2, 3, 4].map((attempt) => verifierOf(hosts, attempt)?.machine.name);

  it('differs with each attempt, and one without heartbeats is last', () => {
    expect(names([host('one'), host('two')])).toEqual(['one', 'two', 'one', 'two']);
    expect(names([host('one', silent), host('two'), host('three')])).toEqual(['two', 'three', 'one', 'two']);
  });

  it('is never one that has not joined, is being removed or could not join', () => {
    const others = [
      host('new', { joinedAt: null }),
      host('leaving', { removal: 'desired' }),
      host('broken', { failed: true }),
    ];
    expect(names([...others, host('one')])).toEqual(['one', 'one', 'one', 'one']);
    expect(names(others)).toEqual([undefined, undefined, undefined, undefined]);
  });
});
