import type { Fact, NodeName, NodeSet, ReplacementOrder } from '@fairlead/contracts';
import { isRefusal } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { machine, plan as planOf } from '../story.fixtures.js';
import { clusters, type RemoveNode, type RequestNodes } from './clusters.decider.js';
import {
  uid,
  spec,
  named,
  requested,
  accepted,
  ready,
  failed,
  deletionRequested,
  plan,
  planned,
  provisioned,
  retry,
  given,
} from './clusters.decider.fixtures.js';

const nodeLost = (node: string): Fact => ({
  type: 'NodeLost',
  data: { uid, node: node as NodeName, lastSeenAt: null, limitMs: 1 },
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

  const byLadybugsRules = (node: string): RemoveNode => {
    const { type, data } = remove(node);
    return { type, data: { ...data, keepsInitialControlPlane: true, allowsEven: true } };
  };

  it('is refused for the leader as CB-Ladybug does it, with its text; the next one leads when it has left [CB-Ladybug 31]', () => {
    given(...provisioned)
      .when(byLadybugsRules('cp-1'))
      .thenRefused('node.initial-control-plane');
    const moved: Fact = {
      type: 'InitialControlPlaneChanged',
      data: { uid, from: 'cp-1' as NodeName, to: 'cp-2' as NodeName },
    };
    given(...provisioned, moved)
      .when(byLadybugsRules('cp-2'))
      .thenRefused('node.initial-control-plane');
    given(...provisioned, moved)
      .when(byLadybugsRules('cp-1'))
      .then(request('cp-1'));
    const state = provisioned.reduce(
      (before, fact, index) => clusters.evolve(before, stored(fact, index + 1)),
      clusters.initial,
    );
    const outcome = clusters.decide(state, byLadybugsRules('cp-1'));
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
      .when(byLadybugsRules('cp-2'))
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
