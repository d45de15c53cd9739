import type { ClusterUid, Fact } from '@fairlead/contracts';
import { declaredOf, refuse } from '@fairlead/contracts';
import { desiredAfter } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { cleanupReconciler } from './cleanup.reconciler.js';
import type { CleanUpCluster, RequestCluster } from './clusters.decider.js';
import { recreationReconciler } from './recreation.reconciler.js';
import {
  uid,
  asked,
  spec,
  named,
  requested,
  accepted,
  ready,
  failed,
  deletionRequested,
  provisioned,
  retry,
  given,
} from './clusters.decider.fixtures.js';

const otherUid = '00000000-0000-4000-8000-000000000002' as ClusterUid;

const rejected: Fact = { type: 'ClusterRejected', data: { uid, code: 'cluster.spec-cpu', message: 'too small' } };

const deleted: Fact = { type: 'ClusterDeleted', data: { uid } };

const ask = (change: Partial<RequestCluster['data']> = {}): RequestCluster => ({
  type: 'RequestCluster',
  data: { ...named, uid, spec: asked, requestHash: 'hash', actor: 'user/spec', connectionFaults: [], ...change },
});

const end = { type: 'DeleteCluster', data: named } as const;

describe('a request for a cluster', () => {
  it('becomes a request when the name is free', () =>
    given()
      .when(ask())
      .then(requested as Fact<'ClusterRequested'>));

  it.each([
    ['10.244.0.0/16', 25],
    ['10.244.0.0/22', 25],
    ['10.244.0.0/15', 24],
    ['10.128.0.0/12', 24],
  ])(
    'with the pod network %s gives each node a /%i of it: 507 nodes have room if any mask allows it',
    (podCidr, mask) => {
      const sized = (nodeCidrMask?: number) => ({
        ...asked,
        kubernetes: { ...asked.kubernetes, podCidr, ...(nodeCidrMask === undefined ? {} : { nodeCidrMask }) },
      });
      given()
        .when(ask({ spec: sized() }))
        .then({ type: 'ClusterRequested', data: { uid, spec: sized(mask), requestHash: 'hash' } });
    },
  );

  it('is refused for its connections before the name is looked at; a repetition is answered as before [CB-Ladybug 6]', () => {
    const connectionFaults = [refuse('connection.unknown', { connection: 'moon' }, 'worker[0].connection')];
    given().when(ask({ connectionFaults })).thenRefused('connection.unknown');
    given(requested)
      .when(ask({ connectionFaults, requestHash: 'other' }))
      .thenRefused('connection.unknown');
    given(requested).when(ask({ connectionFaults })).thenNothing();
  });

  it('is answered as before when the same person sends the same again', () =>
    given(requested).when(ask()).thenNothing());

  it('is refused when someone else, or another request, has the name', () => {
    given(requested)
      .when(ask({ actor: 'user/else' }))
      .thenRefused('cluster.name-taken');
    given(requested)
      .when(ask({ requestHash: 'other' }))
      .thenRefused('cluster.name-taken');
  });

  it('is refused while the name is being freed, and accepted when it is free', () => {
    given(requested, deletionRequested).when(ask()).thenRefused('cluster.deleting');
    given(requested, deletionRequested, deleted)
      .when(ask({ uid: otherUid }))
      .then({ type: 'ClusterRequested', data: { uid: otherUid, spec, requestHash: 'hash' } });
  });
});

describe('a request for a cluster whose creation failed, below the base of CB-Ladybug', () => {
  const again = (change: Partial<RequestCluster['data']> = {}): RequestCluster =>
    ask({ uid: otherUid, recreatesFailed: true, ...change });
  const recreation: Fact<'ClusterRecreationRequested'> = {
    type: 'ClusterRecreationRequested',
    data: { uid, successor: { uid: otherUid, spec, requestHash: 'hash' } },
  };
  const cancelled: Fact<'ClusterRecreationCancelled'> = { type: 'ClusterRecreationCancelled', data: { uid } };
  const deletion = deletionRequested as Fact<'ClusterDeletionRequested'>;
  const successor: Fact = { type: 'ClusterRequested', data: { uid: otherUid, spec, requestHash: 'hash' } };
  const tasksAfter = (...facts: readonly Fact[]) => desiredAfter(recreationReconciler, facts);

  it('deletes it and creates it again, whether the request is the same or another [CB-Ladybug 27]', () => {
    given(requested, accepted, failed).when(again()).then(recreation, deletion);
    given(requested, rejected).when(again()).then(recreation, deletion);
    given(requested, accepted, failed)
      .when(again({ requestHash: 'other' }))
      .then(
        { ...recreation, data: { uid, successor: { ...recreation.data.successor, requestHash: 'other' } } },
        deletion,
      );
  });

  it('is answered as before when the same person sends it again, and refused from others, until it is done', () => {
    const recreating = [requested, accepted, failed, recreation, deletionRequested];
    given(...recreating)
      .when(again())
      .thenNothing();
    given(...recreating)
      .when(again({ requestHash: 'other' }))
      .thenRefused('cluster.deleting');
    given(...recreating)
      .when(again({ actor: 'user/else' }))
      .thenRefused('cluster.deleting');
    given(...recreating, deleted, successor)
      .when(again())
      .thenNothing();
  });

  it('never deletes a cluster that was Ready once, one that is paused, or one whose connections are not usable', () => {
    given(requested, accepted, ready, failed)
      .when(again({ requestHash: 'other' }))
      .thenRefused('cluster.name-taken');
    given(requested, accepted, failed, { type: 'ClusterPaused', data: { uid, reason: '' } })
      .when(again())
      .thenRefused('cluster.paused');
    given(requested, accepted, failed)
      .when(again({ connectionFaults: [refuse('connection.unknown', { connection: 'moon' })] }))
      .thenRefused('connection.unknown');
  });

  it('is for those clients only: elsewhere the name is taken', () =>
    given(requested, accepted, failed)
      .when(again({ recreatesFailed: false, requestHash: 'other' }))
      .thenRefused('cluster.name-taken'));

  it('is carried out as soon as the failed one is gone, once', () => {
    const next = { ...recreation.data.successor, actor: expect.any(String) };
    expect(tasksAfter(requested, failed, recreation, deletionRequested)).toEqual([]);
    expect(tasksAfter(requested, failed, recreation, deletionRequested, deleted)).toMatchObject([
      { type: 'RecreateCluster', data: next },
    ]);
    expect(tasksAfter(requested, failed, recreation, deletionRequested, deleted, successor)).toEqual([]);
    expect(tasksAfter(requested, failed, recreation, deletionRequested, deleted, successor, deleted)).toEqual([]);
  });

  it('is withdrawn by a deletion, which then has no other effect', () => {
    given(requested, accepted, failed, recreation, deletionRequested).when(end).then(cancelled);
    given(requested, accepted, failed, recreation, deletionRequested, cancelled).when(end).thenNothing();
    expect(tasksAfter(requested, failed, recreation, deletionRequested, cancelled, deleted)).toEqual([]);
  });
});

describe('a creation that fails', () => {
  const cleaned: Fact = {
    type: 'ClusterRequested',
    data: { uid, spec: { ...spec, onFailure: 'cleanup' }, requestHash: 'hash' },
  };
  const cleanUp: CleanUpCluster = { type: 'CleanUpCluster', data: { ...named, uid } };
  const failure = { reason: 'InitControlPlaneFailedReason', message: 'kubeadm init on cp-1 failed: no' };
  const declaring = (onFailure?: 'cleanup'): Fact => ({
    type: 'ClusterSpecChanged',
    data: { uid, revision: 1, spec: { ...declaredOf(spec), ...(onFailure === undefined ? {} : { onFailure }) } },
  });
  const paused: Fact = { type: 'ClusterPaused', data: { uid, reason: '' } };
  const resumed: Fact = { type: 'ClusterResumed', data: { uid, reason: '' } };
  const due = (...facts: readonly Fact[]): boolean => desiredAfter(cleanupReconciler, facts).length > 0;

  it('is kept for a retry, unless its request says otherwise', () => {
    given(requested, accepted, failed).when(cleanUp).thenNothing();
    expect(due(requested, accepted, failed)).toBe(false);
    given(requested, accepted, failed).when(retry).then({ type: 'ClusterRetryRequested', data: { uid } });
  });

  it('is deleted with onFailure: cleanup, and the deletion says what failed', () => {
    given(cleaned, accepted, failed).when(cleanUp).then({ type: 'ClusterDeletionRequested', data: { uid, failure } });
    expect(due(cleaned, accepted, failed)).toBe(true);
    given(cleaned, rejected)
      .when(cleanUp)
      .then({
        type: 'ClusterDeletionRequested',
        data: { uid, failure: { reason: 'cluster.spec-cpu', message: 'too small' } },
      });
  });

  it('is never what happens to a cluster that was Ready once', () => {
    given(cleaned, accepted, ready, failed).when(cleanUp).thenNothing();
    expect(due(cleaned, accepted, ready, failed)).toBe(false);
    given(requested, accepted, ready, declaring('cleanup'), failed).when(cleanUp).thenNothing();
  });

  it('waits while the cluster is paused, and is deleted when it is resumed', () => {
    given(cleaned, accepted, failed, paused).when(cleanUp).thenNothing();
    expect(due(cleaned, accepted, failed, paused)).toBe(false);
    expect(due(cleaned, accepted, failed, paused, resumed)).toBe(true);
  });

  it('goes by what is declared when it fails; what is declared later keeps the cluster, and never deletes it', () => {
    given(cleaned, declaring(), accepted, failed).when(cleanUp).thenNothing();
    given(requested, declaring('cleanup'), accepted, failed)
      .when(cleanUp)
      .then({ type: 'ClusterDeletionRequested', data: { uid, failure } });
    given(requested, accepted, failed, declaring('cleanup')).when(cleanUp).thenNothing();
    given(cleaned, accepted, failed, paused, resumed, declaring()).when(cleanUp).thenNothing();
  });

  it('is not deleted once someone has asked for a retry, nor twice, nor under the name of another cluster', () => {
    const again: Fact = { type: 'ClusterRetryRequested', data: { uid } };
    given(cleaned, accepted, failed, again).when(cleanUp).thenNothing();
    given(cleaned, accepted, failed, deletionRequested).when(cleanUp).thenNothing();
    given(cleaned, accepted, failed)
      .when({ ...cleanUp, data: { ...named, uid: otherUid } })
      .thenNothing();
  });
});

describe('a cluster that was cleaned up after its creation failed', () => {
  const cleaned: Fact = {
    type: 'ClusterRequested',
    data: { uid, spec: { ...spec, onFailure: 'cleanup' }, requestHash: 'hash' },
  };
  const failure = { reason: 'InitControlPlaneFailedReason', message: 'kubeadm init on cp-1 failed: no' };
  const cleaning: Fact = { type: 'ClusterDeletionRequested', data: { uid, failure } };
  const running = [cleaned, accepted, failed, cleaning];
  const over = [...running, deleted];
  const forgotten: Fact<'ClusterRecordDeleted'> = { type: 'ClusterRecordDeleted', data: { uid } };
  const again = ask({ uid: otherUid });

  it('leaves its name free: a request creates it again, and a retry is refused', () => {
    given(...over)
      .when(again)
      .then({ type: 'ClusterRequested', data: { uid: otherUid, spec, requestHash: 'hash' } });
    given(...over)
      .when(retry)
      .thenRefused('cluster.cleaned-up');
  });

  it('is created again below the base of CB-Ladybug while it is being cleaned up, too [CB-Ladybug 27]', () => {
    const successor = { uid: otherUid, spec, requestHash: 'hash' };
    const recreates = ask({ uid: otherUid, recreatesFailed: true });
    const recreation: Fact<'ClusterRecreationRequested'> = {
      type: 'ClusterRecreationRequested',
      data: { uid, successor },
    };
    given(...running)
      .when(recreates)
      .then(recreation);
    given(...running, recreation)
      .when(recreates)
      .thenNothing();
    given(...running)
      .when(again)
      .thenRefused('cluster.deleting');
  });

  it('is forgotten when someone deletes it, once it is gone or before, and only once', () => {
    given(...over)
      .when(end)
      .then(forgotten);
    given(...running)
      .when(end)
      .then(forgotten);
    for (const facts of [
      [...over, forgotten],
      [...running, forgotten, deleted],
    ])
      for (const command of [end, retry])
        given(...facts)
          .when(command)
          .thenRefused('cluster.unknown');
    given(...running, forgotten)
      .when(end)
      .thenNothing();
  });
});

describe('a late word about an earlier cluster of the name', () => {
  it('does not concern the present one', () => {
    const again: Fact = { type: 'ClusterRequested', data: { uid: otherUid, spec, requestHash: 'hash' } };
    given(requested, deletionRequested, deleted, again, deleted)
      .when(end)
      .then({
        type: 'ClusterDeletionRequested',
        data: { uid: otherUid },
      });
    given(requested, deletionRequested, deleted, again, failed).when(retry).thenRefused('cluster.not-failed');
  });
});

describe('a retry', () => {
  it('can be asked for only when the cluster has failed', () => {
    const request: Fact<'ClusterRetryRequested'> = { type: 'ClusterRetryRequested', data: { uid } };
    given(requested, accepted, failed).when(retry).then(request);
    given(requested, rejected).when(retry).then(request);
    given(requested, accepted).when(retry).thenRefused('cluster.not-failed');
    given(requested, accepted, failed, request).when(retry).thenRefused('cluster.not-failed');
    given(...provisioned)
      .when(retry)
      .thenRefused('cluster.not-failed');
    given().when(retry).thenRefused('cluster.unknown');
  });
});

describe('the end of a cluster', () => {
  it('can be asked for at any moment, and asking again changes nothing', () => {
    const request = deletionRequested as Fact<'ClusterDeletionRequested'>;
    for (const facts of [[requested], [requested, rejected], [requested, accepted, failed], [...provisioned]])
      given(...facts)
        .when(end)
        .then(request);
    given(requested, deletionRequested).when(end).thenNothing();
    given(requested, deletionRequested, failed).when(end).thenNothing();
  });

  it('is refused where there is nothing to end', () => {
    given().when(end).thenRefused('cluster.unknown');
    given(requested, deletionRequested, deleted).when(end).thenRefused('cluster.unknown');
  });
});
