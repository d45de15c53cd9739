import { describe, expect, it } from '@jest/globals';
import { rolloutReconciler } from './rollout.reconciler.js';

type Failed = NonNullable<typeof rolloutReconciler.failed>;

describe('a check of an upgrade that fails for good', () => {
  const state = {
    status: 'known',
    uid: 'u',
    upgrade: { id: 'u-1', request: {} },
  } as unknown as Parameters<Failed>[0];
  const task = { data: { type: 'CheckUpgrade' } } as unknown as Parameters<Failed>[1];
  const sentences = (message: string, nextAttemptAt: string | null): readonly string[] => {
    const cause = { operation: 'list members', target: 'etcd of demo', message };
    const facts = rolloutReconciler.failed?.(state, task, { cause, nextAttemptAt } as unknown as Parameters<Failed>[2]);
    return (facts ?? []).flatMap(({ data }) =>
      'findings' in data ? data.findings.map(({ sentence }) => sentence) : [],
    );
  };

  it('rejects the upgrade with its cause, and never with an empty one', () => {
    expect(sentences('etcdserver: no leader', null)).toEqual([
      'the cluster could not be surveyed: etcdserver: no leader',
    ]);
    expect(sentences('', null)).toEqual([
      'the cluster could not be surveyed: list members of etcd of demo failed without a reason',
    ]);
  });

  it('rejects nothing while it is tried again', () => {
    expect(sentences('etcdserver: no leader', '2026-11-28T12:00:15.000Z')).toEqual([]);
  });
});
