import type { Fact, KubernetesUser, SecretRef, StoredEvent } from '@fairlead/contracts';
import { advance, reconcilerProcess, type Reaction, type TaskFailure } from '@fairlead/event-sourcing';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { cp, OTHER_UID, UID } from '../bootstrap/bootstrap.fixtures.js';
import { kubeconfigs, type KubeconfigsCommand } from './kubeconfigs.decider.js';
import { kubeconfigsReconciler } from './kubeconfigs.reconciler.js';

const { given } = specification(kubeconfigs);
const ALICE = 'fairlead:token:a11ce' as KubernetesUser;
const BOB = 'fairlead:token:b0b' as KubernetesUser;
const EXPIRES = '2026-01-01T08:00:00.000Z';
const cause = { operation: 'sign a client certificate', target: 'demo', message: 'no answer' };
const ref = (requestId: string): SecretRef => `bootstrap-svc.reader.${requestId}` as SecretRef;

const initialized: Fact = {
  type: 'ControlPlaneInitialized',
  data: { uid: UID, node: cp(1), endpoint: 'https://198.18.7.1:6443', kubeconfigRef: ref('admin'), caCertHash: 'c' },
};
const asked = (requestId: string, user = ALICE): Fact => ({
  type: 'KubeconfigRequested',
  data: { uid: UID, requestId, user, ttlSeconds: 28_800 },
});
const issued = (requestId: string, user = ALICE): Fact<'KubeconfigIssued'> => ({
  type: 'KubeconfigIssued',
  data: { uid: UID, requestId, user, kubeconfigRef: ref(requestId), expiresAt: EXPIRES },
});
const failed: Fact<'KubeconfigNotIssued'> = {
  type: 'KubeconfigNotIssued',
  data: { uid: UID, requestId: 'r1', user: ALICE, cause },
};
const removed = (requestId: string, user = ALICE): Fact<'KubeconfigRemoved'> => ({
  type: 'KubeconfigRemoved',
  data: { uid: UID, requestId, user },
});
const deleted: Fact = { type: 'ClusterDeletionRequested', data: { uid: UID } };

const record = (requestId: string, uid = UID): KubeconfigsCommand => ({
  type: 'RecordIssued',
  data: { uid, requestId, ref: ref(requestId), expiresAt: EXPIRES },
});
const recordRemoved: KubeconfigsCommand = { type: 'RecordRemoved', data: { uid: UID, requestId: 'r1' } };

describe("an operator's request for a kubeconfig", () => {
  it('is answered once, with a certificate for the requesting user', () => {
    given(initialized, asked('r1')).when(record('r1')).then(issued('r1'));
    given(initialized, asked('r1'), issued('r1')).when(record('r1')).thenNothing();
    given(initialized, asked('r1'), failed).when(record('r1')).thenNothing();
  });

  it('ends with the cluster, and is not mistaken for one of another incarnation', () => {
    given(asked('r1')).when(record('r1')).thenNothing();
    given(initialized, asked('r1')).when(record('r1', OTHER_UID)).thenNothing();
    given(initialized, asked('r1'), deleted).when(record('r1')).thenNothing();
  });

  it('results in a sealed kubeconfig whose removal is recorded once', () => {
    given(initialized, asked('r1'), issued('r1')).when(recordRemoved).then(removed('r1'));
    given(initialized, asked('r1'), issued('r1'), removed('r1')).when(recordRemoved).thenNothing();
  });
});

const NOW = '2026-01-01T00:01:00.000Z';
const DAY_AFTER = '2026-01-02T00:00:00.000Z';

const after = (...facts: readonly Fact[]) =>
  facts.reduce((state, fact, index) => kubeconfigs.evolve(state, stored(fact, index + 1)), kubeconfigs.initial);

const desired = (now: string, ...facts: readonly Fact[]): readonly string[] =>
  kubeconfigsReconciler.tasks(after(...facts), now).map(({ key }) => key);

/** The reactions to the last event. */
const reactionsTo = (...facts: readonly Fact[]): readonly Reaction[] => {
  const events: readonly StoredEvent[] = facts.map((fact, index) => stored(fact, index + 1));
  return advance(reconcilerProcess(kubeconfigsReconciler), () => undefined, events)
    .reactions.filter(({ event }) => event.meta.seq === facts.length)
    .map(({ reaction }) => reaction);
};

describe('the reconciler of kubeconfigs', () => {
  it('issues every request', () => {
    expect(desired(NOW, initialized, asked('r1'))).toEqual(['IssueKubeconfig/r1']);
    expect(desired(NOW, initialized, asked('r1'), failed)).toEqual([]);
    expect(reactionsTo(initialized, asked('r1'))).toMatchObject([
      { kind: 'task', type: 'IssueKubeconfig', data: { generation: UID, key: 'IssueKubeconfig/r1' } },
    ]);
  });

  it('answers a request with its failure only after the last attempt', () => {
    const state = after(initialized, asked('r1'));
    const [task] = kubeconfigsReconciler.tasks(state, NOW);
    const failure: TaskFailure = { cause, attempt: 1, attemptsMax: 2, nextAttemptAt: NOW, now: NOW };
    expect(kubeconfigsReconciler.failed?.(state, task!, failure)).toEqual([]);
    expect(kubeconfigsReconciler.failed?.(state, task!, { ...failure, nextAttemptAt: null })).toEqual([failed]);
  });

  it('publishes no task for a cluster that cannot sign', () => {
    expect(reactionsTo(asked('r1'))).toEqual([]);
    expect(reactionsTo(initialized, deleted, asked('r1'))).toEqual([]);
  });

  it('removes a sealed kubeconfig when its certificate expires', () => {
    const facts = [initialized, asked('r1'), issued('r1')];
    expect(reactionsTo(...facts)).toEqual([{ kind: 'timer', key: 'wake', dueAt: EXPIRES, data: {} }]);
    expect(desired(NOW, ...facts)).toEqual([]);
    expect(desired(EXPIRES, ...facts)).toEqual(['RemoveKubeconfig/r1']);
    expect(desired(DAY_AFTER, ...facts, removed('r1'))).toEqual([]);
  });

  it('removes the previous one when the same operator gets a new one, and keeps those of others', () => {
    const before = [initialized, asked('r1'), issued('r1'), asked('r2', BOB), issued('r2', BOB), asked('r3')];
    expect(desired(NOW, ...before, issued('r3'))).toEqual(['RemoveKubeconfig/r1']);
    expect(desired(NOW, ...before, issued('r3'), removed('r1'))).toEqual([]);
  });
});
