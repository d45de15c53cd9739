import type { Fact } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { describe, expect, it } from '@jest/globals';
import { machineOf, uid } from '../nodes/nodes.fixtures.js';
import { conditionDoubt, doubtOf, type Seen } from './confirmation.planner.js';
import { nodeFact, Story } from './remediation.fixtures.js';
import { MINUTES, CHECK, web, typesOf } from './remediation.spec.fixtures.js';

describe('a node is unhealthy', () => {
  it('when it is not Ready for unhealthyAfter, and not earlier [Cluster API 26, azimuth 31]', () => {
    const story = web().notReady('web-1');
    expect(story.wakeAt).toBe(later(story.now, 5 * MINUTES * 1_000));
    expect(story.after(5 * MINUTES - 1).candidates).toEqual([]);
    expect(story.after(1).candidates).toEqual(['web-1']);
    expect(story.tasks).toEqual(['ConfirmUnhealthy/web-1/replace-1']);
  });

  it('when its agent is silent for as long, counted from when it was last healthy', () => {
    const story = web()
      .notReady('web-1')
      .after(3 * MINUTES)
      .lost('web-1')
      .after(2 * MINUTES);
    expect(story.settle()).toMatchObject([
      { type: 'RemediationRequested', data: { node: 'web-1', order: 'remove-first', reason: { condition: 'Lost' } } },
    ]);
  });

  it('when Kubernetes has no Node object for it, although its agent still reports it as Ready', () => {
    const story = web().say(nodeFact('NodeMissing', 'web-1', {}));
    expect(story.after(5 * MINUTES - 1).candidates).toEqual([]);
    expect(story.after(1).settle()).toMatchObject([
      { data: { node: 'web-1', action: 'replace', order: 'remove-first', reason: { condition: 'Missing' } } },
    ]);
  });

  describe('by a condition of its Node that is listed in its health check', () => {
    const DEADLOCK = { type: 'KernelDeadlock', status: 'True', timeout: '2m' };
    const named = (check: object = {}): Story => web({ unhealthyNodeConditions: [DEADLOCK], ...check });
    const has = (node: string, ...conditions: readonly object[]): Fact =>
      nodeFact('NodeConditionsChanged', node, { conditions });
    const deadlock = { type: 'KernelDeadlock', status: 'True' };

    it('that has lasted for its timeout, although it is Ready, and is replaced by one that joins first [Cluster API 26]', () => {
      const story = named().say(has('web-1', deadlock));
      expect(story.wakeAt).toBe(later(story.now, 2 * MINUTES * 1_000));
      expect(story.after(2 * MINUTES - 1).candidates).toEqual([]);
      const reason = { condition: 'NodeCondition', nodeCondition: deadlock, unhealthy: 1 };
      expect(story.after(1).settle()).toMatchObject([
        { type: 'RemediationRequested', data: { node: 'web-1', action: 'replace', order: 'create-first', reason } },
      ]);
    });

    it('whose timeout starts again when it returns, and continues while others change', () => {
      const story = named().say(has('web-1', deadlock)).after(MINUTES);
      const more = { type: 'example.com/Disks', status: 'False' };
      expect(story.say(has('web-1', deadlock, more)).after(MINUTES).candidates).toEqual(['web-1']);
      story.say(has('web-1', more)).say(has('web-1', deadlock));
      expect(story.after(2 * MINUTES - 1).candidates).toEqual([]);
      expect(story.after(1).candidates).toEqual(['web-1']);
      for (const other of [has('web-1', { ...deadlock, status: 'Unknown' }), has('web-1')])
        expect(story.say(has('web-1', deadlock), other).after(60 * MINUTES).candidates).toEqual([]);
    });

    it('including one that the kubelet sets', () => {
      const full = { type: 'DiskPressure', status: 'True', timeout: '2m' };
      const story = named({ unhealthyNodeConditions: [full] });
      story.say(nodeFact('NodePressureChanged', 'web-1', { conditions: ['DiskPressure'] }));
      // Events about other conditions do not end it.
      story.say(has('web-1', deadlock));
      expect(story.after(2 * MINUTES).candidates).toEqual(['web-1']);
      expect(story.say(nodeFact('NodePressureChanged', 'web-1', { conditions: [] })).candidates).toEqual([]);
    });

    it('until that ends, also after a reboot by remediation', () => {
      const story = named({ remediation: 'reboot' })
        .say(has('web-1', deadlock))
        .after(2 * MINUTES);
      expect(story.settle()).toMatchObject([{ data: { node: 'web-1', action: 'reboot' } }]);
      expect(story.say(nodeFact('NodeReady', 'web-1', { revision: 1, software: {} })).settle()).toEqual([]);
      expect(typesOf(story.say(has('web-1')).settle())).toEqual(['RemediationSucceeded']);
    });

    it('is checked once more, because Kubernetes may report a different state by now', () => {
      const condition = { type: 'KernelDeadlock', status: 'True' } as const;
      const doubt = (...conditions: readonly { type: string; status: 'True' | 'False' }[]) =>
        conditionDoubt(condition, { pressures: [], conditions });
      expect(doubt(condition)).toBeUndefined();
      expect(doubt({ ...condition, status: 'False' })).toContain('is False');
      expect(doubt()).toContain('is gone');
      expect(conditionDoubt(condition, undefined)).toContain('no Node object');
      const full = { type: 'DiskPressure', status: 'True' } as const;
      expect(conditionDoubt(full, { pressures: ['DiskPressure'] })).toBeUndefined();
      expect(conditionDoubt(full, { pressures: [] })).toContain('is False');
    });
  });

  it('no longer after its kubelet registered again, also after a reboot by remediation', () => {
    const story = web({ remediation: 'reboot-then-replace' }).say(nodeFact('NodeMissing', 'web-1', {}));
    expect(story.after(5 * MINUTES).settle()).toMatchObject([{ data: { node: 'web-1', action: 'reboot' } }]);
    story.say(nodeFact('NodeReturned', 'web-1', {}));
    expect(typesOf(story.settle())).toEqual(['RemediationSucceeded']);
    expect(story.candidates).toEqual([]);
  });

  it('when its machine has a different private address than the one with which it joined, and is replaced, because a reboot does not help [CB-Ladybug 35]', () => {
    const moved = (node: string, privateIp: string): Fact =>
      nodeFact('VmAddressChanged', node, { publicIp: '', privateIp, ssh: { host: privateIp, port: 22 } });
    const joinedAt = machineOf('web-1').privateIp;
    const story = web({ remediation: 'reboot-then-replace' }).say(moved('web-1', '10.9.9.9'));
    expect(story.after(5 * MINUTES - 1).candidates).toEqual([]);
    expect(story.say(moved('web-1', joinedAt)).after(60 * MINUTES).candidates).toEqual([]);
    story.say(moved('web-1', '10.9.9.9')).after(5 * MINUTES);
    expect(story.settle()).toMatchObject([
      { data: { node: 'web-1', action: 'replace', order: 'create-first', reason: { condition: 'Moved' } } },
    ]);
    const control = new Story({ web: 3 }, { 'control-plane': CHECK });
    control.say(moved('cp-1', '10.9.9.9'), moved('cp-2', '10.9.9.8')).after(5 * MINUTES);
    expect(control.settle()).toMatchObject([{ type: 'RemediationSuspended' }]);
    control.say(moved('cp-2', machineOf('cp-2').privateIp));
    expect(control.settle()).toMatchObject([
      { type: 'RemediationResumed' },
      { data: { node: 'cp-1', action: 'replace', reason: { condition: 'Moved' } } },
    ]);
    const unchecked = new Story({ web: 3 }, {}).say(moved('web-1', '10.9.9.9')).after(60 * MINUTES);
    expect(unchecked.settle()).toEqual([]);
  });

  it('when its machine has not become a Ready node within startupTimeout [Cluster API 26, azimuth 31]', () => {
    const story = web().create('web-4', 'web');
    expect(story.after(10 * MINUTES - 1).candidates).toEqual([]);
    expect(story.after(1).settle()).toMatchObject([
      { data: { node: 'web-4', reason: { condition: 'NotStarted', unhealthy: 1, total: 4 }, order: 'remove-first' } },
    ]);
  });

  it('never because of a slow start of its machine if startupTimeout is 0s', () => {
    const story = web({ startupTimeout: '0s' })
      .create('web-4', 'web')
      .after(24 * 60 * MINUTES);
    expect([story.candidates, story.wakeAt]).toEqual([[], null]);
  });

  it('no longer when it is healthy again, and its timeout starts again', () => {
    const story = web()
      .notReady('web-1')
      .after(4 * MINUTES)
      .ready('web-1')
      .after(1)
      .notReady('web-1');
    expect(story.after(4 * MINUTES).candidates).toEqual([]);
    expect(story.after(1 * MINUTES).candidates).toEqual(['web-1']);
  });

  it.each([
    ['its last heartbeat', 30, 30],
    ['the limit of silence, where the last that is known of it is older', 3 * 24 * 60 * MINUTES, 40],
  ])('for unhealthyAfter from %s, although its loss is recorded later', (_since, heardBefore, silent) => {
    const story = web();
    const lastSeenAt = later(story.now, -heardBefore * 1_000);
    story.say(nodeFact('NodeLost', 'web-1', { lastSeenAt, limitMs: 40_000 }));
    expect(story.after(5 * MINUTES - silent - 1).candidates).toEqual([]);
    expect(story.after(1).candidates).toEqual(['web-1']);
  });

  it('only in a pool with a health check [azimuth 31]', () => {
    const story = new Story({ web: 3, other: 3 }, { web: CHECK }).notReady('other-1').after(60 * MINUTES);
    expect([story.candidates, story.facts, story.wakeAt]).toEqual([[], [], null]);
  });

  it('but is not remediated while its user removes it, or analyses its failure', () => {
    const failed = { requestId: 'r', nodes: ['web-2'], onFailure: 'keep', step: 's', reason: 'r' };
    const cause = { operation: 'join', target: 'web-2', message: 'no' };
    const story = web()
      .notReady('web-1', 'web-2')
      .say(nodeFact('NodeRemovalRequested', 'web-1', {}))
      .say({ type: 'NodesFailed', data: { uid, ...failed, cause } } as unknown as Fact)
      .after(60 * MINUTES);
    expect(story.settle()).toEqual([]);
  });

  it.each(['building', 'failed', 'deleting'])('but is not remediated in a cluster that is %s', (life) => {
    const type = { building: 'ClusterRequested', failed: 'ClusterFailed', deleting: 'ClusterDeletionRequested' }[life];
    const story = web();
    if (type === 'ClusterRequested') story.state = { ...story.state, life: 'building' } as typeof story.state;
    else story.say({ type, data: { uid } } as unknown as Fact);
    expect(
      story
        .notReady('web-1')
        .after(60 * MINUTES)
        .settle(),
    ).toEqual([]);
  });
});

describe('a node that the log reports as unhealthy', () => {
  const seen: Seen = {
    kubernetes: 'not-ready',
    internalIp: '10.0.0.9',
    machineIp: null,
    nowMs: 100_000,
    listeningSinceMs: 0,
    heardAtMs: undefined,
    limitMs: 40_000,
  };

  it.each([
    ['NotReady', {}, undefined],
    ['NotReady', { kubernetes: 'ready' }, 'Kubernetes calls it Ready'],
    ['NotReady', { kubernetes: 'absent' }, undefined],
    ['Missing', { kubernetes: 'absent' }, undefined],
    ['Missing', { kubernetes: 'not-ready' }, 'Kubernetes has its Node object'],
    ['Lost', {}, undefined],
    ['Lost', { heardAtMs: 50_000 }, undefined],
    ['Lost', { heardAtMs: 90_000 }, 'it sends heartbeats again'],
    ['Lost', { listeningSinceMs: 80_000 }, 'heartbeats have been received for too short a time'],
    ['Lost', { listeningSinceMs: undefined }, 'no heartbeats can be received'],
    ['NotStarted', {}, undefined],
    ['Moved', { kubernetes: 'ready', machineIp: '10.9.9.9' }, undefined],
    ['Moved', { internalIp: '10.9.9.9', machineIp: '10.9.9.9' }, 'its kubelet has the address of its machine'],
  ] as const)('as %s, with %j, may be healthy: %s', (condition, change, doubt) =>
    expect(doubtOf(condition, { ...seen, ...change })).toBe(doubt),
  );
});
