import type { ClusterUid, Fact, MachinePlan, NodeName, NodeSet, ReplacementOrder } from '@fairlead/contracts';
import { declaredOf, refuse, isRefusal } from '@fairlead/contracts';
import { toClusterSpec } from '@fairlead/domain';
import { desiredAfter, specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { machine, plan as planOf } from '../story.fixtures.js';
import { cleanupReconciler } from './cleanup.reconciler.js';
import {
  clusters,
  type CleanUpCluster,
  type RemoveNode,
  type RequestCluster,
  type RequestNodes,
} from './clusters.decider.js';
import { goodRequest } from './clusters.fixtures.js';
import { recreationReconciler } from './recreation.reconciler.js';

const uid = '00000000-0000-4000-8000-000000000001' as ClusterUid;
const otherUid = '00000000-0000-4000-8000-000000000002' as ClusterUid;
const asked = toClusterSpec(goodRequest);
const spec = { ...asked, kubernetes: { ...asked.kubernetes, nodeCidrMask: 25 } };
const named = { namespace: 'default', cluster: 'demo' };

const requested: Fact = { type: 'ClusterRequested', data: { uid, spec, requestHash: 'hash' } };
const accepted: Fact = { type: 'ClusterAccepted', data: { uid } };
const ready: Fact = { type: 'ClusterReady', data: { uid } };
const failed: Fact = {
  type: 'ClusterFailed',
  data: {
    uid,
    step: 'init-control-plane',
    reason: 'InitControlPlaneFailedReason',
    cause: { operation: 'kubeadm init', target: 'cp-1', message: 'no' },
  },
};
const rejected: Fact = { type: 'ClusterRejected', data: { uid, code: 'cluster.spec-cpu', message: 'too small' } };
const deletionRequested: Fact = { type: 'ClusterDeletionRequested', data: { uid } };
const deleted: Fact = { type: 'ClusterDeleted', data: { uid } };

const plan = (name: string, role: MachinePlan['role'], leader = false): MachinePlan =>
  ({
    name,
    role,
    pool: role,
    leader,
    connection: 'lab',
    spec: 's',
    rootDisk: { type: 'default', size: 'default' },
  }) as MachinePlan;
const planned: Fact = {
  type: 'VmsPlanned',
  data: {
    uid,
    machines: [
      plan('cp-1', 'control-plane', true),
      plan('cp-2', 'control-plane'),
      plan('cp-3', 'control-plane'),
      plan('w-1', 'worker'),
      plan('w-2', 'worker'),
    ],
  },
};
const nodeReady = (node: string): Fact => ({
  type: 'NodeReady',
  data: { uid, node: node as NodeName, revision: 1, software: {} },
});
const nodeLost = (node: string): Fact => ({
  type: 'NodeLost',
  data: { uid, node: node as NodeName, lastSeenAt: null, limitMs: 1 },
});
const provisioned: readonly Fact[] = [
  requested,
  accepted,
  planned,
  ...['cp-1', 'cp-2', 'cp-3', 'w-1', 'w-2'].map(nodeReady),
  ready,
];

const ask = (change: Partial<RequestCluster['data']> = {}): RequestCluster => ({
  type: 'RequestCluster',
  data: { ...named, uid, spec: asked, requestHash: 'hash', actor: 'user/spec', connectionFaults: [], ...change },
});
const workers = [
  { connection: 'lab', count: 1, spec: 's', rootDisk: { type: 'default', size: 'default' } },
] as NodeSet[];
const more = (change: Partial<RequestNodes['data']> = {}): RequestNodes => ({
  type: 'RequestNodes',
  data: { ...named, requestId: 'r1', workers, connectionFaults: [], ...change },
});
const remove = (node: string) => ({ type: 'RemoveNode', data: { ...named, node: node as NodeName } }) as const;
const replace = (node: string, order: ReplacementOrder = 'create-first') =>
  ({ type: 'ReplaceNode', data: { ...named, requestId: 'r1', node: node as NodeName, order, reason: 'old' } }) as const;
const replacing = (node: string, order: ReplacementOrder = 'create-first'): Fact<'NodeReplacementRequested'> => ({
  type: 'NodeReplacementRequested',
  data: { uid, requestId: 'r1', node: node as NodeName, order, reason: 'old' },
});
const retry = { type: 'RetryCluster', data: named } as const;
const end = { type: 'DeleteCluster', data: named } as const;

const { given } = specification(clusters);

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
    ask({ uid: otherUid, asLadybug: true, ...change });
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
      .when(again({ asLadybug: false, requestHash: 'other' }))
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

describe('more workers', () => {
  const request: Fact<'NodesRequested'> = { type: 'NodesRequested', data: { uid, requestId: 'r1', workers } };

  it('can be asked for when the cluster is Provisioned [CB-Ladybug 29]', () =>
    given(...provisioned)
      .when(more())
      .then(request));

  const name = 'demo-w-9' as NodeName;
  const planned = (requestId: string): Fact => ({
    type: 'VmsPlanned',
    data: { uid, requestId, machines: [planOf(name)] },
  });
  const created: Fact = { type: 'VmsCreated', data: { uid, machines: [machine(name)] } };
  const cause = { operation: 'kubeadm join', target: name, message: 'no' };
  const endedAs = (onFailure: 'rollback' | 'keep'): Fact => ({
    type: 'NodesFailed',
    data: { uid, requestId: 'r1', nodes: [name], onFailure, step: 'JoinWorker', node: name, reason: 'R', cause },
  });
  const notMade = (onFailure: 'rollback' | 'keep'): Fact => ({
    type: 'VmsFailed',
    data: { uid, requestId: 'r1', machines: [name], onFailure, reason: 'R', cause },
  });
  const next = more({ requestId: 'r2' });
  const second: Fact<'NodesRequested'> = { type: 'NodesRequested', data: { uid, requestId: 'r2', workers } };
  const abandon = { type: 'AbandonNodes', data: named } as const;
  const retryRequest: Fact<'ClusterRetryRequested'> = { type: 'ClusterRetryRequested', data: { uid } };

  it('may be requested while others are on their way, up to a limit, and when those have come or were rejected', () => {
    given(...provisioned, request)
      .when(next)
      .then(second);
    const many = Array.from({ length: 20 }, (_, at) => ({
      ...request,
      data: { ...request.data, requestId: `o${at}` },
    }));
    given(...provisioned, ...many)
      .when(next)
      .thenRefused('cluster.busy');
    given(...provisioned, request, planned('r1'), created, ready)
      .when(next)
      .then(second);
    const no: Fact = { type: 'NodesRejected', data: { uid, requestId: 'r1', code: 'x', message: 'x' } };
    given(...provisioned, request, no)
      .when(next)
      .then(second);
  });

  it('do not end with a word about other nodes', () =>
    given(...provisioned, request, planned('r1'), ready)
      .when(abandon)
      .then({ type: 'NodesAbandoned', data: { uid, requestId: 'r1', nodes: [name] } }));

  it.each([
    ['whose machines were not made', notMade],
    ['whose nodes could not join', endedAs],
  ] as const)('%s and are rolled back hinder nothing, and cannot be retried', (_how, end_) => {
    const facts = [...provisioned, request, planned('r1'), end_('rollback')];
    given(...facts)
      .when(next)
      .then(second);
    given(...facts)
      .when(retry)
      .thenRefused('cluster.not-failed');
    given(...facts)
      .when(abandon)
      .thenRefused('nodes.nothing-to-abandon');
  });

  it.each([
    ['whose machines were not made', notMade],
    ['whose nodes could not join', endedAs],
  ] as const)('%s and are kept hinder nothing, and can be retried, removed and given up', (_how, end_) => {
    const facts = [...provisioned, request, planned('r1'), end_('keep')];
    given(...facts)
      .when(next)
      .then(second);
    given(...facts)
      .when(retry)
      .then(retryRequest);
    given(...facts)
      .when(remove(name))
      .then({ type: 'NodeRemovalRequested', data: { uid, node: name } });
    given(...facts)
      .when(abandon)
      .then({ type: 'NodesAbandoned', data: { uid, requestId: 'r1', nodes: [name] } });
    given(...facts, { type: 'VmDeleted', data: { uid, name } })
      .when(retry)
      .thenRefused('cluster.not-failed');
  });

  it('that are under way can be given up', () =>
    given(...provisioned, request)
      .when(abandon)
      .then({ type: 'NodesAbandoned', data: { uid, requestId: 'r1', nodes: [] } }));

  it('that join do not hide a machine that the provider does not delete: it can still be retried', () => {
    const notDeleted: Fact = {
      type: 'VmDeletionFailed',
      data: { uid, machines: [name], reason: 'R', cause, attempt: 1, nextAttemptAt: '2026-01-01T01:00:00.000Z' },
    };
    given(...provisioned, planned('r0'), notDeleted, ready)
      .when(retry)
      .then(retryRequest);
    given(...provisioned, planned('r0'), notDeleted, { type: 'VmDeleted', data: { uid, name } })
      .when(retry)
      .thenRefused('cluster.not-failed');
  });

  it('carry what becomes of them if they fail', () =>
    given(...provisioned)
      .when(more({ onFailure: 'keep' }))
      .then({ ...request, data: { ...request.data, onFailure: 'keep' } }));

  it.each([
    ['absent', [], 'cluster.unknown'],
    ['being built', [requested, accepted], 'cluster.not-ready'],
    ['Failed', [requested, accepted, failed], 'cluster.not-ready'],
    ['Deleting', [...provisioned, deletionRequested], 'cluster.not-ready'],
  ] as const)('are refused when the cluster is %s [CB-Ladybug 29]', (_phase, facts, code) =>
    given(...facts)
      .when(more())
      .thenRefused(code),
  );

  it('are refused on another connection when the cluster is single', () => {
    const single: Fact = {
      type: 'ClusterRequested',
      data: { uid, requestHash: 'h', spec: { ...spec, serviceType: 'single' } },
    };
    const strangers = workers.map((set) => ({ ...set, connection: 'other' as NodeSet['connection'] }));
    given(single, ready)
      .when(more({ workers: strangers }))
      .thenRefused('cluster.single-connection');
  });

  it('are refused beyond the size of a cluster', () =>
    given(...provisioned)
      .when(more({ workers: workers.map((set) => ({ ...set, count: 503 })) }))
      .thenRefused('cluster.too-many-nodes'));

  it.each([
    ['what was decided when the cluster was requested', { podCidr: '10.244.0.0/24', nodeCidrMask: 25 }],
    ['a /24 in a cluster of an earlier release', { podCidr: '10.244.0.0/23' }],
  ])('are refused beyond the room of the pod network, of which each node takes %s', (_range, network) => {
    const { nodeCidrMask: _, ...kubernetes } = spec.kubernetes;
    const two: Fact = {
      type: 'ClusterRequested',
      data: { uid, requestHash: 'h', spec: { ...spec, kubernetes: { ...kubernetes, ...network } } },
    };
    const added = (count: number): RequestNodes => more({ workers: workers.map((set) => ({ ...set, count })) });
    given(two, ready)
      .when(added(2))
      .then({ ...request, data: { ...request.data, workers: [...added(2).data.workers] } });
    given(two, ready).when(added(3)).thenRefused('cluster.pod-cidr-small');
  });
});

describe('the removal of a node', () => {
  const request = (node: string): Fact<'NodeRemovalRequested'> => ({
    type: 'NodeRemovalRequested',
    data: { uid, node: node as NodeName },
  });

  it('can be asked for, once', () => {
    given(...provisioned)
      .when(remove('w-1'))
      .then(request('w-1'));
    given(...provisioned, request('w-1'))
      .when(remove('w-1'))
      .thenNothing();
  });

  const asLadybug = (node: string): RemoveNode => {
    const { type, data } = remove(node);
    return { type, data: { ...data, asLadybug: true } };
  };

  it('is refused for the leader as CB-Ladybug does it, with its text; the next one leads when it has left [CB-Ladybug 31]', () => {
    given(...provisioned)
      .when(asLadybug('cp-1'))
      .thenRefused('node.initial-control-plane');
    const moved: Fact = {
      type: 'InitialControlPlaneChanged',
      data: { uid, from: 'cp-1' as NodeName, to: 'cp-2' as NodeName },
    };
    given(...provisioned, moved)
      .when(asLadybug('cp-2'))
      .thenRefused('node.initial-control-plane');
    given(...provisioned, moved)
      .when(asLadybug('cp-1'))
      .then(request('cp-1'));
    const state = provisioned.reduce(
      (before, fact, index) => clusters.evolve(before, stored(fact, index + 1)),
      clusters.initial,
    );
    const outcome = clusters.decide(state, asLadybug('cp-1'));
    expect(isRefusal(outcome) && outcome.message).toBe('The initial control plane cannot be removed through /ladybug');
  });

  it('is refused when it would leave an even number of control planes, unless the node is not Ready, or it is a part of a change', () => {
    given(...provisioned)
      .when(remove('cp-2'))
      .thenRefused('node.control-plane-even');
    given(...provisioned, nodeLost('cp-1'))
      .when(remove('cp-1'))
      .then(request('cp-1'));
    const { type, data } = remove('cp-1');
    given(...provisioned, request('cp-3'))
      .when({ type, data: { ...data, after: ['cp-3' as NodeName] } })
      .then(request('cp-1'));
  });

  it('is refused when too few of the control planes that stay are healthy [CB-Ladybug 31]', () => {
    given(...provisioned)
      .when(asLadybug('cp-2'))
      .then(request('cp-2'));
    given(...provisioned, nodeLost('cp-3'))
      .when(remove('cp-2'))
      .thenRefused('node.quorum');
    given(...provisioned, nodeLost('cp-2'))
      .when(remove('cp-2'))
      .then(request('cp-2'));
    given(...provisioned, request('cp-3'))
      .when(remove('cp-2'))
      .thenRefused('node.quorum');
  });

  it('is refused with the numbers of members, of healthy ones, and of those that would be left [Cluster API 22]', () =>
    given(...provisioned, nodeLost('cp-3'))
      .when(remove('cp-2'))
      .thenRefused(
        'node.quorum',
        'Removing cp-2 would leave etcd with 1 healthy of 2 members, and it needs 2: 2 of 3 are healthy now',
      ));

  it('is a matter of the quorum for a control plane that a member of an external etcd runs beside, as for any other', () => {
    const external = provisioned.map((fact) =>
      fact.type === 'ClusterRequested'
        ? {
            ...fact,
            data: { ...fact.data, spec: { ...spec, kubernetes: { ...spec.kubernetes, etcd: 'external' as const } } },
          }
        : fact,
    );
    given(...external, request('cp-3'))
      .when(remove('cp-2'))
      .thenRefused('node.quorum');
    given(...external)
      .when(remove('w-1'))
      .then(request('w-1'));
  });

  it('is refused while the cluster is being deleted, with the text of CB-Ladybug [CB-Ladybug 3]', () =>
    given(...provisioned, deletionRequested)
      .when(remove('w-1'))
      .thenRefused('cluster.not-ready', 'Unable to remove a node: the cluster is Deleting'));

  it('is refused for a node that is not there', () => {
    given(...provisioned)
      .when(remove('w-9'))
      .thenRefused('node.unknown');
    given(...provisioned, { type: 'VmDeleted', data: { uid, name: 'w-1' as NodeName } })
      .when(remove('w-1'))
      .thenRefused('node.unknown');
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

describe('a request to replace a node', () => {
  const newNode = 'w-3' as NodeName;
  const next: Fact = {
    type: 'VmsPlanned',
    data: { uid, requestId: 'r1', machines: [plan(newNode, 'worker')] },
  };
  const joined: Fact = {
    type: 'NodeReplacementReady',
    data: { uid, requestId: 'r1', node: 'w-1' as NodeName, newNode },
  };

  it.each(['create-first', 'remove-first'] as const)('is recorded with its order: %s', (order) =>
    given(...provisioned)
      .when(replace('w-1', order))
      .then(replacing('w-1', order)),
  );

  it('is refused for a node that is not known', () => {
    given(...provisioned)
      .when(replace('w-9'))
      .thenRefused('node.unknown');
    given().when(replace('w-1')).thenRefused('cluster.unknown');
  });

  it('of a control plane, the initial one included, is refused when etcd would be without a majority between the two', () => {
    given(...provisioned)
      .when(replace('cp-1'))
      .then(replacing('cp-1'));
    given(...provisioned, nodeLost('cp-1'))
      .when(replace('cp-1', 'remove-first'))
      .then(replacing('cp-1', 'remove-first'));
    given(...provisioned, nodeLost('cp-3'))
      .when(replace('cp-1', 'remove-first'))
      .thenRefused('node.quorum');
    given(...provisioned, nodeLost('cp-3'))
      .when(replace('cp-1'))
      .then(replacing('cp-1'));
  });

  it('is refused while the same node is rebooted or drained on request, and names that request', () => {
    const about = { uid, requestId: 'a1', action: 'reboot' };
    const rebooted = { type: 'NodeActionRequested', data: { ...about, nodes: ['w-1'] } } as unknown as Fact;
    const through = { type: 'NodeActionSucceeded', data: { ...about, node: 'w-1', tookMs: 1 } } as unknown as Fact;
    given(...provisioned, rebooted)
      .when(replace('w-1'))
      .thenRefused('node.action-open');
    given(...provisioned, rebooted)
      .when(replace('w-2'))
      .then(replacing('w-2'));
    given(...provisioned, rebooted, through)
      .when(replace('w-1'))
      .then(replacing('w-1'));
  });

  it('is refused while the node is being replaced or removed, and beside any other change of nodes', () => {
    given(...provisioned, replacing('w-1'))
      .when(replace('w-1'))
      .thenRefused('node.being-replaced');
    given(...provisioned, replacing('w-1'))
      .when(replace('w-2'))
      .thenRefused('cluster.busy');
    given(...provisioned, replacing('w-1', 'remove-first'))
      .when(replace('w-1'))
      .thenRefused('node.leaving');
    given(...provisioned, replacing('w-1'), next, joined, ready)
      .when(replace('w-1'))
      .thenRefused('node.leaving');
    given(requested, accepted, planned).when(replace('w-1')).thenRefused('cluster.not-ready');
  });

  it('holds up other changes of nodes until the new node is part of the cluster', () => {
    given(...provisioned, replacing('w-1'), next)
      .when(more())
      .thenRefused('cluster.busy');
    given(...provisioned, replacing('w-1'), next)
      .when(remove('w-1'))
      .thenRefused('cluster.busy');
    given(...provisioned, replacing('w-1'), next, joined, ready)
      .when(replace('w-2'))
      .then(replacing('w-2'));
  });

  it('can be abandoned while it is under way', () =>
    given(...provisioned, replacing('w-1'), next)
      .when({ type: 'AbandonNodes', data: named })
      .then({ type: 'NodesAbandoned', data: { uid, requestId: 'r1', nodes: [newNode] } }));
});
