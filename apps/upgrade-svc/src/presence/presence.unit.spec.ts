import type { EventData, EventType, Fact } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, machineOf, otherUid, planOf, uid } from '../nodes/nodes.fixtures.js';
import { deletable, presence } from './presence.decider.js';
import { compare, NO_MEMORY, type ListedNode, type Memory, type RecordedNode } from './presence.planner.js';

const NODES = ['cp-1', 'w-1', 'w-2'];
const idOf = (name: string): string => `lab://${name}`;
const nodeOf = (name: string, change: Partial<ListedNode> = {}): ListedNode => ({
  name,
  registered: { uid: `first-${name}`, atMs: 0 },
  ready: true,
  message: 'kubelet is posting ready status',
  pressures: [],
  providerId: idOf(name),
  ...change,
});
const returned = (node: string, nodeUid = `first-${node}`): Fact => fact('NodeReturned', { node, nodeUid });
const fact = (type: EventType, data: object): Fact => ({ type, data: { uid, ...data } }) as Fact;
const LOOK_MS = 60_000;
const LIMIT_MS = 10 * LOOK_MS;
const strange = (name: string, change: Partial<EventData<'NodeWithoutMachineFound'>> = {}): Fact =>
  fact('NodeWithoutMachineFound', {
    name,
    ready: true,
    reason: 'unknown-provider-id',
    providerId: idOf(name),
    ...change,
  });

/** A cluster whose nodes have joined, and the lists of its Nodes. */
class Watch {
  private state = presence.initial;
  private seq = 0;
  private memory: Memory = NO_MEMORY;
  private recorded: readonly RecordedNode[] = NODES.map((name) => ({ name, providerId: idOf(name) }));
  private nowMs = 0;
  private overdue: readonly string[] = [];
  private strangers: Parameters<typeof deletable>[1]['strangers'] = [];

  constructor() {
    this.say(clusterRequested(), fact('VmsPlanned', { machines: NODES.map((name) => planOf(name)) }));
    this.say(...NODES.map((name) => fact('VmCreated', { machine: machineOf(name) })));
    this.say(...NODES.map((node) => fact('WorkerJoined', { node })), fact('ClusterReady', {}));
  }

  say(...facts: readonly Fact[]): this {
    for (const one of facts) this.state = presence.evolve(this.state, stored(one, (this.seq += 1)));
    return this;
  }

  /** The nodes in the rows of upgrade-svc. */
  expecting(...names: readonly string[]): this {
    this.recorded = names.map((name) => ({ name, providerId: idOf(name) }));
    return this;
  }

  /** Rows of an earlier release, without provider IDs. */
  expectingByName(): this {
    this.recorded = NODES.map((name) => ({ name }));
    return this;
  }

  /** The facts that a list with these Nodes results in. */
  look(...nodes: readonly (string | ListedNode)[]): readonly Fact[] {
    const found = nodes.map((node) => (typeof node === 'string' ? nodeOf(node) : node));
    const recorded = this.recorded.map((one) => ({ ...one, ready: this.isReady(one.name) }));
    const looking = { before: this.memory, nowMs: this.nowMs, limitMs: LIMIT_MS };
    const { confirmed, seen, memory } = compare(recorded, found, looking);
    this.nowMs += LOOK_MS;
    this.overdue = confirmed.overdue;
    this.strangers = confirmed.strangers;
    this.memory = memory;
    const data = { uid, ...confirmed, seen };
    const facts = presence.decide(this.state, { type: 'RecordPresence', data }) as readonly Fact[];
    this.say(...facts);
    return facts;
  }

  /** As in the rows. */
  isReady(name: string): boolean {
    return this.state.status === 'known' && this.state.members[name]?.ready === true;
  }

  /** The Nodes that may be deleted after the last list. */
  get deletable(): readonly string[] {
    return deletable(this.state, { uid, overdue: this.overdue, strangers: this.strangers });
  }

  /** Simulates a failed call of the API. */
  fail(): this {
    this.memory = NO_MEMORY;
    return this;
  }
}

describe('a Node restored with etcd', () => {
  const verifying = fact('EtcdRestoreAdvanced', { requestId: 'r', step: 'verify', cause: null });
  const restored = [fact('EtcdRestoreRequested', {}), verifying, fact('EtcdRestored', {})];
  const removed = [fact('NodeRemoved', { node: 'w-2' }), fact('VmDeleted', { name: 'w-2' })];
  const unready = nodeOf('w-2', { ready: false });

  it('whose node was removed is deleted once it is not Ready, and is not reported as a stranger', () => {
    const watch = new Watch().say(...removed, ...restored).expecting('cp-1', 'w-1');
    expect([watch.look(...NODES), watch.look(...NODES)]).toEqual([[], []]);
    expect(watch.deletable).toEqual([]);
    expect(watch.look('cp-1', 'w-1', unready)).toEqual([fact('NodeWithoutMachineExpired', { name: 'w-2' })]);
    expect(watch.look('cp-1', 'w-1', unready)).toEqual([]);
    expect(watch.deletable).toEqual(['w-2']);
    expect(watch.look('cp-1', 'w-1')).toEqual([fact('NodeWithoutMachineGone', { name: 'w-2' })]);
    expect(watch.look('cp-1', 'w-1')).toEqual([]);
  });

  it('is an ordinary stranger without a restore, and if it was never a node of the cluster', () => {
    const alone = new Watch().say(...removed).expecting('cp-1', 'w-1');
    alone.look(...NODES);
    expect(alone.look(...NODES)).toEqual([strange('w-2')]);
    const other = new Watch().say(...restored);
    other.look(...NODES, 'w-9');
    expect(other.look(...NODES, 'w-9')).toEqual([strange('w-9')]);
  });
});

describe('a node without a Node object', () => {
  it('is recorded once, when two lists in a row agree, and so is its return', () => {
    const watch = new Watch();
    expect(watch.look('cp-1', 'w-1')).toEqual([]);
    expect(watch.look('cp-1', 'w-1')).toEqual([fact('NodeMissing', { node: 'w-2' })]);
    expect(watch.look('cp-1', 'w-1')).toEqual([]);
    expect(watch.look(...NODES)).toEqual([returned('w-2')]);
    expect(watch.look(...NODES)).toEqual([]);
  });

  it('is not missing because the API did not respond: lists before and after an outage are not in a row [ORBITER 23]', () => {
    const watch = new Watch();
    for (let looks = 0; looks < 5; looks += 1) expect(watch.fail().look('cp-1', 'w-1')).toEqual([]);
    expect(watch.look('cp-1', 'w-1')).toHaveLength(1);
  });

  it.each([
    ['NodeRemovalRequested', { node: 'w-2' }],
    ['NodeRemoved', { node: 'w-2' }],
    ['NodesAbandoned', { requestId: 'r', nodes: ['w-2'] }],
    ['SurgeReleased', { nodes: ['w-2'] }],
    ['VmsFailed', { requestId: 'r', machines: ['w-2'], onFailure: 'rollback' }],
    ['NodesFailed', { requestId: 'r', nodes: ['w-2'], onFailure: 'rollback' }],
    ['NodeReplacementReady', { requestId: 'r', node: 'w-2', newNode: 'w-3' }],
    ['VmDeleted', { name: 'w-2' }],
    ['ClusterDeletionRequested', {}],
    ['EtcdRestoreRequested', {}],
  ] as const)('is not missing after %s: it may be leaving', (type, data) => {
    const watch = new Watch().say(fact(type, data));
    watch.look('cp-1', 'w-1');
    expect(watch.look('cp-1', 'w-1')).toEqual([]);
  });

  it('is not missing before it has joined', () => {
    const watch = new Watch().say(fact('VmsPlanned', { machines: [planOf('w-3')] })).expecting(...NODES, 'w-3');
    watch.look(...NODES);
    expect(watch.look(...NODES)).toEqual([]);
    watch.say(fact('WorkerJoined', { node: 'w-3' }));
    expect(watch.look(...NODES)).toEqual([fact('NodeMissing', { node: 'w-3' })]);
  });

  it('is compared again after a restore of etcd', () => {
    const watch = new Watch().say(fact('EtcdRestoreRequested', {}), fact('EtcdRestored', {}));
    watch.look('cp-1', 'w-1');
    expect(watch.look('cp-1', 'w-1')).toEqual([fact('NodeMissing', { node: 'w-2' })]);
  });
});

describe('a node registered again between two lists', () => {
  const again = (uid: string, atMs = Date.parse('2100-01-01T00:00:00Z')): ListedNode =>
    nodeOf('w-2', { registered: { uid, atMs } });

  it('is recorded once for each of its Node objects, first by age and then by uid, also after a restart of the service', () => {
    const watch = new Watch();
    expect(watch.look('cp-1', 'w-1', again('second'))).toEqual([returned('w-2', 'second')]);
    expect(watch.fail().look('cp-1', 'w-1', again('second'))).toEqual([]);
    expect(watch.look('cp-1', 'w-1', again('third', 0))).toEqual([returned('w-2', 'third')]);
    expect(watch.look('cp-1', 'w-1', again('third', 0))).toEqual([]);
  });

  it('is not new because its agent repeats that it is Ready, nor while it may be leaving', () => {
    const watch = new Watch();
    expect(watch.say(fact('NodeReady', { node: 'w-2' })).look(...NODES)).toEqual([]);
    watch.say(fact('NodeRemovalRequested', { node: 'w-2' }));
    expect(watch.look('cp-1', 'w-1', again('second'))).toEqual([]);
  });

  it('that returned before uids were recorded is compared by the age of its Node', () => {
    const watch = new Watch().say(fact('NodeMissing', { node: 'w-2' }), fact('NodeReturned', { node: 'w-2' }));
    expect(watch.look(...NODES)).toEqual([]);
    expect(watch.look('cp-1', 'w-1', again('second'))).toEqual([returned('w-2', 'second')]);
  });
});

describe('a node whose agent reports it as Ready', () => {
  const WORDS = 'Kubelet stopped posting node status.';
  const down = nodeOf('w-2', { ready: false, message: WORDS });
  const contradicted = fact('NodeReadinessContradicted', { node: 'w-2', message: WORDS });
  const confirmed = fact('NodeReadinessConfirmed', { node: 'w-2' });
  const reporting = (): Watch => new Watch().say(...NODES.map((node) => fact('NodeReady', { node })));
  const down2 = ['cp-1', 'w-1', down] as const;

  it('is contradicted once, when two lists in a row show it as not Ready, until one shows it as Ready', () => {
    const watch = reporting();
    expect(watch.look(...down2)).toEqual([]);
    expect(watch.look(...down2)).toEqual([contradicted]);
    expect([watch.look(...down2), watch.isReady('w-2')]).toEqual([[], false]);
    expect([watch.look(...NODES), watch.isReady('w-2')]).toEqual([[confirmed], true]);
    expect(watch.look(...NODES)).toEqual([]);
  });

  it('remains contradicted when its agent repeats that it is Ready, and when the API does not respond', () => {
    const watch = reporting();
    watch.look(...down2);
    watch.look(...down2);
    watch.say(fact('NodeReady', { node: 'w-2' })).fail();
    expect([watch.look(...down2), watch.isReady('w-2')]).toEqual([[], false]);
  });

  it('is not contradicted by one list before an API outage and one after it', () => {
    const watch = reporting();
    for (let outages = 0; outages < 5; outages += 1) expect(watch.fail().look(...down2)).toEqual([]);
  });

  it('is not contradicted if its agent reports the same, as during a software change', () => {
    const watch = reporting();
    watch.look(...down2);
    watch.say(fact('NodeNotReady', { node: 'w-2', reason: 'SoftwareChange' }));
    for (let looks = 0; looks < 5; looks += 1) expect(watch.look(...down2)).toEqual([]);
    watch.say(fact('NodeReady', { node: 'w-2' }));
    watch.look(...down2);
    expect(watch.look(...down2)).toEqual([contradicted]);
  });

  it('is not contradicted while it may be leaving, while the cluster is deleted or etcd is restored', () => {
    for (const type of ['NodeRemovalRequested', 'ClusterDeletionRequested', 'EtcdRestoreRequested'] as const) {
      const watch = reporting().say(fact(type, { node: 'w-2' }));
      watch.look(...down2);
      expect([type, watch.look(...down2)]).toEqual([type, []]);
    }
  });

  it('does not recover if its Node object returns and is not Ready', () => {
    const watch = reporting();
    watch.look('cp-1', 'w-1');
    expect(watch.look('cp-1', 'w-1')).toEqual([fact('NodeMissing', { node: 'w-2' })]);
    expect(watch.isReady('w-2')).toBe(false);
    expect(watch.look(...down2)).toEqual([returned('w-2'), contradicted]);
    expect([watch.look(...NODES), watch.isReady('w-2')]).toEqual([[confirmed], true]);
  });

  it('has a message of bounded length', () => {
    const watch = reporting();
    const long = nodeOf('w-2', { ready: false, message: 'x'.repeat(5_000) });
    watch.look('cp-1', 'w-1', long);
    const [stated] = watch.look('cp-1', 'w-1', long);
    expect(stated?.data).toMatchObject({ message: 'x'.repeat(300) });
  });
});

describe('the conditions of a Node that keep pods off it', () => {
  it('are recorded when two lists in a row agree, and their end after one', () => {
    const full = nodeOf('w-2', { pressures: ['DiskPressure'] });
    const stated = (...conditions: readonly string[]): Fact => fact('NodePressureChanged', { node: 'w-2', conditions });
    const watch = new Watch();
    expect(watch.look('cp-1', 'w-1', full)).toEqual([]);
    expect(watch.look('cp-1', 'w-1', full)).toEqual([stated('DiskPressure')]);
    expect(watch.look('cp-1', 'w-1', full)).toEqual([]);
    expect(watch.look(...NODES)).toEqual([stated()]);
  });
});

it('other conditions of a Node are recorded after one list, and again when any of them changes', () => {
  const deadlock = { type: 'KernelDeadlock', status: 'True' } as const;
  const stated = (...conditions: readonly object[]): Fact => fact('NodeConditionsChanged', { node: 'w-2', conditions });
  const watch = new Watch();
  expect(watch.look('cp-1', 'w-1', nodeOf('w-2', { conditions: [deadlock] }))).toEqual([stated(deadlock)]);
  expect(watch.look('cp-1', 'w-1', nodeOf('w-2', { conditions: [deadlock] }))).toEqual([]);
  const over = { ...deadlock, status: 'False' } as const;
  expect(watch.look('cp-1', 'w-1', nodeOf('w-2', { conditions: [over] }))).toEqual([stated(over)]);
  expect(watch.look(...NODES)).toEqual([stated()]);
});

describe('a Node without a machine', () => {
  const idle = nodeOf('idle', { ready: false });
  const afterLooks = (watch: Watch, looks: number, ...nodes: readonly (string | ListedNode)[]): Watch => {
    for (let look = 0; look < looks; look += 1) watch.look(...NODES, ...nodes);
    return watch;
  };

  it('is not deleted if its provider ID or its name is that of a machine', () => {
    const twin = nodeOf('twin', { ready: false, providerId: idOf('w-1') });
    expect(afterLooks(new Watch(), 30, twin).deletable).toEqual([]);
    const namesake = nodeOf('w-3', { ready: false, providerId: idOf('another') });
    const planned = new Watch().say(fact('VmsPlanned', { machines: [planOf('w-3')] }));
    expect(afterLooks(planned, 30, namesake).deletable).toEqual([]);
  });

  it('is deleted if no list has shown it as Ready for the whole limit [ORBITER 23]', () => {
    const watch = afterLooks(new Watch(), 10, idle);
    expect(watch.deletable).toEqual([]);
    expect(watch.look(...NODES, idle)).toEqual([fact('NodeWithoutMachineExpired', { name: 'idle' })]);
    expect(watch.deletable).toEqual(['idle']);
    expect([watch.look(...NODES, idle), watch.deletable]).toEqual([[], ['idle']]);
    expect(watch.look(...NODES)).toEqual([fact('NodeWithoutMachineGone', { name: 'idle' })]);
    expect(afterLooks(watch, 10, idle).deletable).toEqual([]);
  });

  it('is kept while it is Ready, however long, and its time starts again after it was Ready once [ORBITER 23]', () => {
    expect(afterLooks(new Watch(), 30, 'stray').deletable).toEqual([]);
    const watch = afterLooks(new Watch(), 9, idle);
    expect(afterLooks(afterLooks(watch, 1, 'idle'), 10, idle).deletable).toEqual([]);
    expect(afterLooks(watch, 1, idle).deletable).toEqual(['idle']);
  });

  it('is not deleted because the API did not respond: the time of all lists starts again [ORBITER 23]', () => {
    const watch = afterLooks(new Watch(), 9, idle).fail();
    expect(afterLooks(watch, 10, idle).deletable).toEqual([]);
    expect(afterLooks(watch, 1, idle).deletable).toEqual(['idle']);
  });

  it('is kept while the cluster is paused or deleted, etcd is restored, or once its machine is recorded', () => {
    for (const type of ['ClusterPaused', 'ClusterDeletionRequested', 'EtcdRestoreRequested'] as const)
      expect([type, afterLooks(new Watch().say(fact(type, {})), 15, idle).deletable]).toEqual([type, []]);
    const expired = afterLooks(new Watch(), 12, idle);
    expect(expired.say(fact('ClusterPaused', {})).deletable).toEqual([]);
    expect(expired.say(fact('ClusterResumed', {})).deletable).toEqual(['idle']);
    expect(expired.say(fact('VmsPlanned', { machines: [planOf('idle')] })).deletable).toEqual([]);
  });

  it('is an alarm, recorded once whether it is Ready or not [ORBITER 23]', () => {
    const watch = new Watch();
    expect(watch.look(...NODES, 'stray', nodeOf('idle', { ready: false }))).toEqual([]);
    const stated = watch.look(...NODES, 'stray', nodeOf('idle', { ready: false }));
    expect(stated).toEqual([strange('idle', { ready: false }), strange('stray')]);
    expect(watch.look(...NODES, 'stray', 'idle')).toEqual([]);
  });

  it('ends when Kubernetes no longer has it', () => {
    const watch = new Watch();
    for (let looks = 0; looks < 2; looks += 1) watch.look(...NODES, 'stray');
    expect(watch.look(...NODES)).toEqual([fact('NodeWithoutMachineGone', { name: 'stray' })]);
  });

  it('is not a stranger while its machine is planned, created or being deleted, whatever the rows contain', () => {
    const watch = new Watch().say(fact('VmsPlanned', { machines: [planOf('w-3')] }));
    for (let looks = 0; looks < 3; looks += 1) expect(watch.look(...NODES, 'w-3')).toEqual([]);
    watch.say(fact('NodeRemovalRequested', { node: 'w-2' }), fact('NodeRemoved', { node: 'w-2' }));
    watch.expecting('cp-1', 'w-1', 'w-3');
    for (let looks = 0; looks < 3; looks += 1) expect(watch.look(...NODES, 'w-3')).toEqual([]);
    watch.say(fact('VmDeleted', { name: 'w-2' }));
    expect(watch.look(...NODES, 'w-3')).toEqual([strange('w-2')]);
  });

  it('has a name of bounded length, and at most 100 are recorded', () => {
    const watch = new Watch();
    const many = Array.from({ length: 150 }, (_, index) => `stray-${String(index).padStart(3, '0')}`);
    for (let looks = 0; looks < 2; looks += 1) watch.look(...NODES, '', 'x'.repeat(254));
    expect(watch.look(...NODES, '', 'x'.repeat(254))).toEqual([]);
    watch.look(...NODES, ...many);
    expect(watch.look(...NODES, ...many)).toHaveLength(100);
    expect(watch.look(...NODES, ...many)).toEqual([]);
    const more = many.map((name) => `another-${name}`);
    watch.look(...NODES, ...more, ...many);
    expect(watch.look(...NODES, ...more, ...many)).toEqual([]);
  });

  it('of an earlier cluster of the same name is not recorded', () => {
    const strangers = [{ ...nodeOf('stray'), reason: 'unknown-provider-id' as const }];
    const data = {
      uid: otherUid,
      missing: [],
      strangers,
      overdue: [],
      contradicted: [],
      pressures: {},
      seen: { present: NODES.map((name) => nodeOf(name)), strangers },
    };
    const state = presence.evolve(presence.initial, stored(clusterRequested(), 1));
    expect(presence.decide(state, { type: 'RecordPresence', data })).toEqual([]);
    expect(presence.decide(presence.initial, { type: 'RecordPresence', data })).toEqual([]);
  });
});

describe('a Node object is matched with a machine', () => {
  const twice = (watch: Watch, ...nodes: readonly (string | ListedNode)[]): readonly Fact[] => {
    watch.look(...nodes);
    return watch.look(...nodes);
  };

  it('by its provider ID and not by its name [Cluster API 8]', () => {
    expect(twice(new Watch(), 'cp-1', 'w-1', nodeOf('renamed', { providerId: idOf('w-2') }))).toEqual([]);
    const impostor = nodeOf('w-2', { providerId: 'lab://another' });
    expect(twice(new Watch(), 'cp-1', 'w-1', impostor)).toEqual([
      fact('NodeMissing', { node: 'w-2' }),
      strange('w-2', { providerId: 'lab://another' }),
    ]);
  });

  it('once: a second Node with its provider ID is rejected, whichever is listed first [Cluster API 8]', () => {
    const copy = nodeOf('a-copy', { providerId: idOf('w-2') });
    const refused = [strange('a-copy', { providerId: idOf('w-2'), reason: 'duplicate-provider-id' })];
    expect(twice(new Watch(), ...NODES, copy)).toEqual(refused);
    expect(twice(new Watch(), copy, ...NODES)).toEqual(refused);
  });

  it.each([
    ['the provider ID of no machine', { providerId: 'lab://elsewhere' }, { providerId: 'lab://elsewhere' }],
    ['none', { providerId: null }, { reason: 'no-provider-id', providerId: undefined }],
  ] as const)('not at all with %s: it is ignored, and the reason is recorded [Cluster API 8]', (_id, of, why) => {
    const watch = new Watch();
    expect(twice(watch, ...NODES, nodeOf('stray', of))).toEqual([strange('stray', why)]);
    expect(watch.look(...NODES, nodeOf('stray', of))).toEqual([]);
  });

  it('by its name if one of the two has no provider ID: a kubelet that set none, a row of an earlier release', () => {
    const bare = NODES.map((name) => nodeOf(name, { providerId: null }));
    expect(twice(new Watch(), ...bare)).toEqual([]);
    expect(twice(new Watch().expectingByName(), ...NODES)).toEqual([]);
  });

  it('again when its Node has the provider ID again', () => {
    const watch = new Watch();
    twice(watch, 'cp-1', 'w-1', nodeOf('w-2', { providerId: 'lab://another' }));
    expect(watch.look(...NODES)).toEqual([returned('w-2'), fact('NodeWithoutMachineGone', { name: 'w-2' })]);
  });
});

it('a Node whose provider ID has the form of a cloud controller is that of its machine', () => {
  const recorded = [
    { name: 'w-1', providerId: 'openstack://2f6c' },
    { name: 'w-2', providerId: 'aws://i-0abc' },
  ];
  const listed = [
    nodeOf('w-1', { providerId: 'openstack://RegionOne/2f6c' }),
    nodeOf('w-2', { providerId: 'aws:///eu-west-1b/i-0abc' }),
    nodeOf('w-3', { providerId: 'aws:///eu-west-1b/i-0def' }),
  ];
  const { seen } = compare(recorded, listed, { before: NO_MEMORY, nowMs: 0, limitMs: LIMIT_MS });
  expect(seen.present.map(({ name }) => name)).toEqual(['w-1', 'w-2']);
  expect(seen.strangers).toMatchObject([{ name: 'w-3', providerId: 'aws://i-0def' }]);
});
