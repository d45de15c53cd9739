import { describe, expect, it } from '@jest/globals';
import type { Fact, StoredEvent, Quota } from '@fairlead/contracts';
import type { Registered } from './registered.js';
import { NO_USAGE, quotaRefusal, usageAfter, type Usage, type Desired } from './usage.js';

const at = (seq: number, namespace: string, fact: Fact): StoredEvent =>
  ({ ...fact, meta: { seq, namespace } }) as unknown as StoredEvent;
const set = (count: number, connection = 'lab', spec = 'small') => ({ connection, count, spec });
const asked = (seq: number, uid: string, machines = [set(1), set(2)], namespace = 'a'): StoredEvent =>
  at(seq, namespace, {
    type: 'ClusterRequested',
    data: { uid, spec: { controlPlane: machines[0], workers: machines.slice(1) } },
  } as never);
const fact = (seq: number, type: string, data: object): StoredEvent => at(seq, 'a', { type, data } as never);
const offer = {
  specs: [
    { name: 'small', cpuCount: 2 },
    { name: 'large', cpuCount: 8 },
  ],
};
const offered = fact(1, 'ConnectionVerified', { connection: 'lab', offer });
const usageOf = (...events: readonly StoredEvent[]): Usage => [offered, ...events].reduce(usageAfter, NO_USAGE);

const known = (namespace: Quota, connection: Quota = {}): Registered => ({
  namespaces: new Map([['a', { quota: namespace, since: 1, hookSecrets: [], addonSecrets: [], realms: new Map() }]]),
  connections: new Map([['lab', { quota: connection } as never]]),
});
const cluster = (uid: string | undefined, machines = [set(1), set(2)], namespace = 'a'): Desired =>
  ({ namespace, uid, more: false, machines }) as unknown as Desired;
const workers = (uid: string, requestId: string, machines = [set(1)]): Desired =>
  ({ namespace: 'a', uid, requestId, more: true, machines }) as unknown as Desired;
const verdict = (quota: Quota, usage: Usage, desired: Desired): string | undefined =>
  quotaRefusal(known(quota), usage, desired)?.message;

describe('a quota', () => {
  it('counts clusters, machines and their CPUs, and states the usage', () => {
    const usage = usageOf(asked(2, 'one'));
    expect(verdict({ clusters: 2, nodes: 6, cores: 12 }, usage, cluster(undefined))).toBeUndefined();
    expect(verdict({ clusters: 1 }, usage, cluster(undefined))).toBe(
      'Quota exceeded: namespace a may have 1 cluster and has 1, and the request adds 1',
    );
    expect(verdict({ nodes: 5 }, usage, cluster(undefined))).toContain('5 nodes and has 3, and the request adds 3');
    expect(verdict({ cores: 11 }, usage, cluster(undefined))).toContain('11 cores and has 6, and the request adds 6');
    expect(verdict({ cores: 12 }, usage, cluster(undefined, [set(1, 'lab', 'large')]))).toContain('adds 8');
  });

  it('of zero allows nothing', () =>
    expect(verdict({ clusters: 0 }, usageOf(), cluster(undefined))).toContain('0 clusters'));

  it('is not exceeded by two concurrent requests: the first one in the log gets the capacity, in every replica', () => {
    const usage = usageOf(asked(2, 'first'), asked(3, 'second'));
    expect(verdict({ clusters: 1 }, usage, cluster('first'))).toBeUndefined();
    expect(verdict({ clusters: 1 }, usage, cluster('second'))).toBeDefined();
  });

  it('counts a corrected request with its new values, after requests made in the meantime', () => {
    const spec = { controlPlane: set(1), workers: [set(9)] };
    const corrected = fact(4, 'ClusterRetryRequested', { uid: 'one', correction: { spec, requestHash: 'h' } });
    const usage = usageOf(asked(2, 'one'), asked(3, 'two'), corrected);
    expect(verdict({ nodes: 15 }, usage, cluster(undefined))).toContain('has 13');
    expect(verdict({ clusters: 1 }, usage, cluster('two'))).toBeUndefined();
    expect(verdict({ clusters: 1 }, usage, cluster('one'))).toBeDefined();
  });

  it('is not exceeded by two concurrent requests for workers, of one cluster or of two', () => {
    const more = (seq: number, uid: string, requestId: string) =>
      fact(seq, 'NodesRequested', { uid, requestId, workers: [set(1)] });
    const usage = usageOf(
      asked(2, 'one'),
      asked(3, 'two'),
      more(4, 'one', 'r1'),
      more(5, 'two', 'r2'),
      more(6, 'one', 'r3'),
    );
    expect(verdict({ nodes: 7 }, usage, workers('one', 'r1'))).toBeUndefined();
    expect(verdict({ nodes: 7 }, usage, workers('two', 'r2'))).toBeDefined();
    expect(verdict({ nodes: 8 }, usage, workers('one', 'r3'))).toBeDefined();
    expect(verdict({ nodes: 9 }, usage, workers('one', 'r3'))).toBeUndefined();
  });

  it('is not evaded by a retry: a rejected cluster that retries comes after requests made in the meantime', () => {
    const rejected = fact(3, 'ClusterRejected', { uid: 'one' });
    const usage = usageOf(asked(2, 'one'), rejected, asked(4, 'two'));
    expect(verdict({ clusters: 1 }, usage, cluster('two'))).toBeUndefined();
    const again = usageAfter(usage, fact(5, 'ClusterRetryRequested', { uid: 'one' }));
    expect(verdict({ clusters: 1 }, again, cluster('one'))).toBeDefined();
    expect(verdict({ clusters: 1 }, again, cluster('two'))).toBeUndefined();
  });

  it('does not depend on which context of the log is read first', () => {
    const request = [asked(2, 'one'), fact(5, 'ClusterRetryRequested', { uid: 'one' }), asked(6, 'two')];
    const machines = [fact(3, 'ClusterRejected', { uid: 'one' })];
    const inOrder = usageOf(request[0]!, machines[0]!, request[1]!, request[2]!);
    const apart = usageOf(...request, ...machines);
    for (const uid of ['one', 'two'])
      expect(verdict({ clusters: 1 }, apart, cluster(uid))).toEqual(verdict({ clusters: 1 }, inOrder, cluster(uid)));
  });

  it('counts a cluster until it is deleted, and each machine until it is gone', () => {
    const machine = (name: string) => ({ name, connection: 'lab', spec: 'small' });
    const planned = fact(3, 'VmsPlanned', { uid: 'one', machines: ['x', 'y', 'z'].map(machine) });
    const surge = fact(4, 'VmsPlanned', { uid: 'one', machines: [machine('extra')] });
    const usage = usageOf(asked(2, 'one'), planned, surge);
    expect(verdict({ nodes: 6 }, usage, cluster(undefined))).toContain('has 4');
    const less = [fact(5, 'VmDeleted', { uid: 'one', name: 'extra' }), fact(6, 'VmDeleted', { uid: 'one', name: 'x' })];
    expect(verdict({ nodes: 5 }, less.reduce(usageAfter, usage), cluster(undefined))).toBeUndefined();
    const leaving = usageAfter(usage, fact(7, 'ClusterDeletionRequested', { uid: 'one' }));
    expect(verdict({ clusters: 1 }, leaving, cluster(undefined))).toBeDefined();
    const gone = usageAfter(leaving, fact(8, 'ClusterDeleted', { uid: 'one' }));
    expect(verdict({ clusters: 1 }, gone, cluster(undefined))).toBeUndefined();
  });

  it('of a namespace is used by that namespace only, and that of a connection by all', () => {
    const usage = usageOf(asked(2, 'one', [set(1), set(2)], 'b'));
    expect(quotaRefusal(known({ clusters: 1 }), usage, cluster(undefined))).toBeUndefined();
    const refusal = quotaRefusal(known({}, { nodes: 5 }), usage, cluster(undefined));
    expect([refusal?.code, refusal?.message]).toEqual([
      'quota.exceeded',
      'Quota exceeded: connection lab may have 5 nodes and has 3, and the request adds 3',
    ]);
    const elsewhere = usageOf(asked(2, 'one', [set(9, 'other')]));
    expect(quotaRefusal(known({}, { nodes: 5 }), elsewhere, cluster(undefined))).toBeUndefined();
  });
});
