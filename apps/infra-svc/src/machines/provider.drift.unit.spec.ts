import type { EventType, Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LAB, nodeSet, requested, runningMachine, UID } from '../../test/fixtures.js';
import { machines } from './machines.decider.js';
import { planCluster } from './machines.planner.js';
import type { Difference } from './provider.drift.js';
import { tasksOf } from './tasks.planner.js';

/** A cluster in the log, with what lists of its provider state about it. */
class Seen {
  readonly facts: Fact[] = [];
  readonly names: readonly NodeName[];
  private seq = 0;
  private state = machines.initial;

  constructor(controlPlanes: number, workers: number) {
    const spec = clusterSpec({ controlPlane: nodeSet(controlPlanes), workers: [nodeSet(workers)] });
    const plans = planCluster(UID, spec, () => []);
    const made = plans.map((plan, at) => runningMachine(plan, at + 1));
    this.names = plans.map(({ name }) => name);
    this.say(requested(spec), { type: 'ClusterAccepted', data: { uid: UID } });
    this.say({ type: 'VmsPlanned', data: { uid: UID, machines: [...plans] } });
    this.say(...made.map((machine): Fact => ({ type: 'VmCreated', data: { uid: UID, machine } })));
    this.say({ type: 'VmsCreated', data: { uid: UID, machines: made } });
    this.say({ type: 'LoadBalancerReady', data: { uid: UID, kind: 'haproxy', host: '127.2.0.1', port: 6443 } });
  }

  say(...facts: readonly Fact[]): this {
    for (const fact of facts) {
      this.seq += 1;
      this.state = machines.evolve(this.state, stored(fact, this.seq) as StoredEvent);
    }
    return this;
  }

  ready(): this {
    return this.say({ type: 'ClusterReady', data: { uid: UID } } as Fact);
  }

  /** Returns the facts that a list yields, and appends them. `absent`: machines that only this list misses. */
  look(differences: readonly Difference[], absent: readonly NodeName[] = []): readonly Fact[] {
    const gone = differences.filter(({ kind }) => kind === 'gone').map(({ node }) => node);
    const data = { uid: UID, connection: LAB, differences, absent: [...new Set([...gone, ...absent])] };
    const stated = machines.decide(this.state, { type: 'RecordLook', data });
    if ('code' in stated) throw new Error(stated.message);
    this.say(...stated);
    this.facts.push(...stated);
    return stated;
  }

  gone(...nodes: readonly NodeName[]): readonly Fact[] {
    return this.look(nodes.map((node) => ({ node, kind: 'gone' })));
  }

  tasks(): readonly string[] {
    return tasksOf(this.state, '2026-01-01T01:00:00.000Z').map(({ key }) => key);
  }

  at(index: number): NodeName {
    return this.names[index]!;
  }
}

const types = (facts: readonly Fact[]): readonly EventType[] => facts.map(({ type }) => type);

describe('a machine that its provider no longer lists', () => {
  it('is stated as gone once, and replaced', () => {
    const cluster = new Seen(1, 4).ready();
    expect(cluster.gone(cluster.at(1))).toEqual([
      {
        type: 'VmGone',
        data: {
          uid: UID,
          node: cluster.at(1),
          requestId: `gone-${cluster.at(1)}-1`,
          connection: LAB,
          providerId: 'lab://m-2',
          repair: 'replace',
          reason: '',
        },
      },
    ]);
    expect(cluster.gone(cluster.at(1))).toEqual([]);
  });

  it('may return and be gone again: the second time its replacement is already in progress', () => {
    const cluster = new Seen(1, 4).ready();
    cluster.gone(cluster.at(1));
    expect(types(cluster.look([{ node: cluster.at(1), kind: 'returned' }]))).toEqual(['VmReturned']);
    expect(cluster.look([{ node: cluster.at(1), kind: 'returned' }])).toEqual([]);
    expect(cluster.gone(cluster.at(1))).toMatchObject([
      {
        data: {
          requestId: `gone-${cluster.at(1)}-2`,
          repair: 'none',
          reason: 'its node is being removed or replaced already',
        },
      },
    ]);
  });

  it('is not replaced before its node has joined, nor while it is being removed', () => {
    const building = new Seen(1, 4);
    expect(building.gone(building.at(1))).toMatchObject([{ data: { repair: 'none' } }]);
    const removing = new Seen(1, 4).ready();
    removing.say({ type: 'NodeRemovalRequested', data: { uid: UID, node: removing.at(2) } } as Fact);
    expect(removing.gone(removing.at(2))).toMatchObject([{ data: { repair: 'none' } }]);
  });

  it('is stated and replaced after the cluster was resumed, and not at all if it is listed again by then', () => {
    const cluster = new Seen(1, 4).ready().say({ type: 'ClusterPaused', data: { uid: UID, reason: '' } });
    expect(cluster.gone(cluster.at(1), cluster.at(2))).toEqual([]);
    expect(cluster.look([{ node: cluster.at(2), kind: 'returned' }])).toEqual([]);
    cluster.say({ type: 'ClusterResumed', data: { uid: UID, reason: '' } });
    expect(cluster.gone(cluster.at(1))).toMatchObject([
      { type: 'VmGone', data: { node: cluster.at(1), repair: 'replace' } },
    ]);
  });

  it('yields no facts once it or its cluster is being deleted', () => {
    const cluster = new Seen(1, 4).ready();
    cluster.say({ type: 'NodeRemoved', data: { uid: UID, node: cluster.at(1) } } as Fact);
    expect(cluster.gone(cluster.at(1))).toEqual([]);
    cluster.say({ type: 'ClusterDeletionRequested', data: { uid: UID } });
    expect(cluster.gone(cluster.at(2))).toEqual([]);
  });
});

describe('a control plane whose machine is gone', () => {
  it.each([
    [3, 1, 'replace', ''],
    [3, 2, 'none', '1 of 3 control planes have a machine, which is no quorum of etcd'],
    [5, 2, 'replace', ''],
    [5, 3, 'none', '2 of 5 control planes have a machine, which is no quorum of etcd'],
  ])('of %i, %i gone: %s', (controlPlanes, gone, repair, reason) => {
    const cluster = new Seen(controlPlanes, 20).ready();
    const facts = cluster.gone(...cluster.names.slice(controlPlanes - gone, controlPlanes));
    expect(facts).toHaveLength(gone);
    for (const fact of facts) expect(fact).toMatchObject({ type: 'VmGone', data: { repair, reason } });
  });
});

describe('a machine that was not replaced', () => {
  const cause = { operation: 'kubeadm join', target: 'demo-w-9', message: 'no' };
  const statedOf = (facts: readonly Fact[]) =>
    facts.map((fact) => (fact.type === 'VmGone' ? [fact.data.node, fact.data.repair, fact.data.reason] : [fact.type]));

  it('for lack of quorum is replaced once enough other control planes are back, and each reason is stated once', () => {
    const cluster = new Seen(3, 20).ready();
    const [one, other] = [cluster.at(1), cluster.at(2)];
    const noQuorum = '1 of 3 control planes have a machine, which is no quorum of etcd';
    expect(statedOf(cluster.gone(one, other))).toEqual([
      [one, 'none', noQuorum],
      [other, 'none', noQuorum],
    ]);
    for (let looks = 0; looks < 10; looks += 1) expect(cluster.gone(one, other)).toEqual([]);
    expect(types(cluster.look([{ node: other, kind: 'returned' }]))).toEqual(['VmReturned']);
    expect(statedOf(cluster.gone(one))).toEqual([[one, 'replace', '']]);
    expect(cluster.gone(one)).toEqual([]);
  });

  it('because its node was being replaced is replaced after that was rolled back', () => {
    const cluster = new Seen(1, 4).ready();
    const node = cluster.at(1);
    cluster.say({
      type: 'NodeReplacementRequested',
      data: { uid: UID, requestId: 'r1', node, order: 'create-first', reason: '' },
    });
    expect(statedOf(cluster.gone(node))).toEqual([[node, 'none', 'its node is being removed or replaced already']]);
    expect(cluster.gone(node)).toEqual([]);
    cluster.say({
      type: 'NodesFailed',
      data: { uid: UID, requestId: 'r1', nodes: [], onFailure: 'rollback', step: 's', reason: 'R', cause },
    });
    expect(statedOf(cluster.gone(node))).toEqual([[node, 'replace', '']]);
    expect(cluster.gone(node)).toEqual([]);
  });

  it('because too many were missing at once is replaced when fewer are', () => {
    const cluster = new Seen(1, 9).ready();
    const missing = cluster.names.slice(1, 6);
    expect(types(cluster.gone(...missing))).toEqual(['VmsMissing']);
    for (let looks = 0; looks < 10; looks += 1) expect(cluster.gone(...missing)).toEqual([]);
    const [still, ...back] = missing;
    cluster.look(back.map((node) => ({ node, kind: 'returned' })));
    expect(statedOf(cluster.gone(still!))).toEqual([[still, 'replace', '']]);
  });

  it('because it had not joined yet is replaced once the cluster was Ready, and not while the cluster is paused', () => {
    const cluster = new Seen(1, 4);
    const node = cluster.at(1);
    expect(statedOf(cluster.gone(node))).toEqual([[node, 'none', 'its node had not joined the cluster yet']]);
    cluster.ready().say({ type: 'ClusterPaused', data: { uid: UID, reason: '' } });
    expect(cluster.gone(node)).toEqual([]);
    cluster.say({ type: 'ClusterResumed', data: { uid: UID, reason: '' } });
    expect(statedOf(cluster.gone(node))).toEqual([[node, 'replace', '']]);
  });
});

describe('the initial control plane', () => {
  it('is replaced like the others', () => {
    const cluster = new Seen(3, 2).ready();
    expect(cluster.gone(cluster.at(0))).toMatchObject([{ type: 'VmGone', data: { repair: 'replace', reason: '' } }]);
  });
});

describe('machines that disappear together', () => {
  it.each([
    [2, 4, 'VmGone'],
    [3, 4, 'VmsMissing'],
    [3, 9, 'VmGone'],
    [4, 10, 'VmGone'],
    [5, 10, 'VmsMissing'],
  ])('%i of %i: %s', (gone, total, type) => {
    const cluster = new Seen(1, total - 1).ready();
    const facts = cluster.gone(...cluster.names.slice(1, 1 + gone));
    expect(new Set(types(facts))).toEqual(new Set([type]));
  });

  it('are counted with those that only this list misses, because they may be disappearing', () => {
    const cluster = new Seen(1, 9).ready();
    const gone = cluster.names.slice(1, 3);
    const facts = cluster.look(
      gone.map((node) => ({ node, kind: 'gone' })),
      cluster.names.slice(1, 6),
    );
    expect(facts).toMatchObject([{ type: 'VmsMissing', data: { nodes: gone, missing: 5, total: 10 } }]);
    expect(cluster.gone(...cluster.names.slice(3, 6))).toMatchObject([{ type: 'VmsMissing', data: { missing: 5 } }]);
  });

  it('remain unrepaired until they return or their nodes are removed', () => {
    const cluster = new Seen(1, 4).ready();
    cluster.gone(...cluster.names.slice(1, 4));
    expect(cluster.gone(...cluster.names.slice(1, 4))).toEqual([]);
    expect(types(cluster.look(cluster.names.slice(1, 3).map((node) => ({ node, kind: 'returned' }))))).toEqual([
      'VmReturned',
      'VmReturned',
    ]);
    expect(types(cluster.gone(cluster.at(1)))).toEqual(['VmGone']);
  });
});

describe('other drift of a machine', () => {
  it('is that it is stopped and started, each stated once', () => {
    const cluster = new Seen(1, 2).ready();
    const node = cluster.at(1);
    for (const kind of ['stopped', 'stopped', 'started', 'started'] as const) cluster.look([{ node, kind }]);
    expect(types(cluster.facts)).toEqual(['VmStopped', 'VmStarted']);
  });

  it('is a changed address of a control plane: the load balancer follows [CB-Ladybug 35]', () => {
    const cluster = new Seen(1, 2).ready();
    const addresses = { publicIp: '127.1.9.9', privateIp: '10.9.9.9', ssh: { host: '127.1.9.9', port: 2222 } };
    expect(cluster.tasks()).toEqual([]);
    expect(types(cluster.look([{ node: cluster.at(0), kind: 'moved', addresses }]))).toEqual(['VmAddressChanged']);
    expect(cluster.look([{ node: cluster.at(0), kind: 'moved', addresses }])).toEqual([]);
    expect(cluster.tasks()).toEqual(['EnsureLoadBalancer']);
    cluster.say({ type: 'LoadBalancerReady', data: { uid: UID, kind: 'haproxy', host: '127.2.0.1', port: 6443 } });
    expect(cluster.tasks()).toEqual([]);
  });
});
