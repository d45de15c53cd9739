import { describe, expect, it } from '@jest/globals';
import type { PersistentVolumeClaim, Pod } from '../objects/core.types.js';
import { CLAIM_PROTECTION, planProtection } from './protection.planner.js';

const claim = (metadata: Partial<PersistentVolumeClaim['metadata']>): PersistentVolumeClaim =>
  ({ metadata: { name: 'data', namespace: 'default', ...metadata }, spec: {} }) as PersistentVolumeClaim;
const pod = (volume: object, nodeName?: string): Pod =>
  ({ metadata: { name: 'db-0' }, spec: { nodeName, volumes: [{ name: 'disk', ...volume }] } }) as unknown as Pod;
const using = { persistentVolumeClaim: { claimName: 'data' } };
const deleted = claim({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['other', CLAIM_PROTECTION] });
/** The written finalizers, or undefined if nothing is written. */
const finalizersAfter = (one: PersistentVolumeClaim, ...pods: readonly Pod[]): readonly string[] | undefined => {
  const [operation] = planProtection({ claim: one, pods });
  return operation?.do === 'replace' ? operation.object.metadata.finalizers : undefined;
};

describe('a claim, as the pvc-protection controller of Kubernetes treats it', () => {
  it('is protected from its creation, once', () => {
    expect(finalizersAfter(claim({ finalizers: ['other'] }))).toEqual(['other', CLAIM_PROTECTION]);
    expect(finalizersAfter(claim({ finalizers: [CLAIM_PROTECTION] }))).toBeUndefined();
  });

  it('is kept after its deletion while a scheduled pod uses it, and then removed', () => {
    expect(finalizersAfter(deleted, pod(using, 'w1'))).toBeUndefined();
    expect(finalizersAfter(deleted, pod(using))).toEqual(['other']);
    expect(finalizersAfter(deleted, pod({ emptyDir: {} }, 'w1'))).toEqual(['other']);
  });

  it('of an ephemeral volume is named after the pod and the volume', () => {
    const ephemeral = { ...deleted, metadata: { ...deleted.metadata, name: 'db-0-disk' } };
    expect(finalizersAfter(ephemeral, pod({ ephemeral: {} }, 'w1'))).toBeUndefined();
  });
});
