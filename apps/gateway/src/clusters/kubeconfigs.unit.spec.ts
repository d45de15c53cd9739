import type { Fact, KubernetesUser, SecretRef } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { CREATE, uid } from '../story.fixtures.js';
import { halfTimeOf, kubeconfigs, type RequestKubeconfig } from './kubeconfigs.decider.js';

const { given } = specification(kubeconfigs);
const ALICE = 'fairlead:token:a11ce' as KubernetesUser;
const BOB = 'fairlead:token:b0b' as KubernetesUser;
const TTL = 28_800;
/** Specs write one event a second from here. */
const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString();
const HISTORY = CREATE.length;

const request = (change: Partial<RequestKubeconfig['data']> = {}): RequestKubeconfig => ({
  type: 'RequestKubeconfig',
  data: {
    ...{
      namespace: 'default',
      cluster: 'demo',
      uid,
      requestId: 'r2',
      user: ALICE,
      ttlSeconds: TTL,
      now: at(HISTORY + 5),
      polled: false,
    },
    ...change,
  },
});
const asked = (requestId: string, change: { ttlSeconds?: number } = {}): Fact<'KubeconfigRequested'> => ({
  type: 'KubeconfigRequested',
  data: { uid, requestId, user: ALICE, ttlSeconds: TTL, ...change },
});
const issued: Fact = {
  type: 'KubeconfigIssued',
  data: {
    uid,
    requestId: 'r1',
    user: ALICE,
    kubeconfigRef: 'bootstrap-svc.reader.r1' as SecretRef,
    expiresAt: at(TTL),
  },
};
const failed: Fact = {
  type: 'KubeconfigNotIssued',
  data: { uid, requestId: 'r1', user: ALICE, cause: { operation: 'o', target: 't', message: 'm' } },
};

describe('a request for a kubeconfig', () => {
  it('is recorded as a request of its own, each time', () => {
    given(...CREATE)
      .when(request())
      .then(asked('r2'));
    given(...CREATE, asked('r1'), issued)
      .when(request())
      .then(asked('r2'));
    given(...CREATE, asked('r1'), failed)
      .when(request())
      .then(asked('r2'));
  });

  it('waits for the same request of the same operator, unless that has no answer for a minute', () => {
    given(...CREATE, asked('r1'))
      .when(request())
      .thenNothing();
    given(...CREATE, asked('r1'))
      .when(request({ ttlSeconds: 600 }))
      .then(asked('r2', { ttlSeconds: 600 }));
    given(...CREATE, asked('r1'))
      .when(request({ now: at(HISTORY + 62) }))
      .then(asked('r2'));
    const [bobs] = [{ ...asked('r2'), data: { ...asked('r2').data, user: BOB } }];
    given(...CREATE, asked('r1'))
      .when(request({ user: BOB }))
      .then(bobs);
  });

  it('is refused before the cluster can sign, and for another cluster of the name', () => {
    given(...CREATE.slice(0, 5))
      .when(request())
      .thenRefused('cluster.kubeconfig-not-ready');
    given(...CREATE)
      .when(request({ uid: 'another' }))
      .thenRefused('cluster.kubeconfig-not-ready');
    given(...CREATE, { type: 'ClusterDeletionRequested', data: { uid } })
      .when(request())
      .thenRefused('cluster.kubeconfig-not-ready');
  });

  it('of a client that polls is content with the last one for half of its time', () => {
    given(...CREATE, asked('r1'), issued)
      .when(request({ polled: true }))
      .thenNothing();
    given(...CREATE, asked('r1'), issued)
      .when(request({ polled: true, now: at(TTL / 2 + 1) }))
      .then(asked('r2'));
    expect(halfTimeOf({ expiresAt: at(TTL) }, TTL)).toBe(at(TTL / 2));
  });

  it('of a client that polls does not ask again at once where the cluster did not sign', () => {
    given(...CREATE, asked('r1'), failed)
      .when(request({ polled: true }))
      .thenNothing();
    given(...CREATE, asked('r1'), failed)
      .when(request({ polled: true, now: at(HISTORY + 120) }))
      .then(asked('r2'));
  });
});
