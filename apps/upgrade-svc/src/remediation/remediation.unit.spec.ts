import type { Fact } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { describe, expect, it } from '@jest/globals';
import { machineOf, uid } from '../nodes/nodes.fixtures.js';
import { conditionDoubt, doubtOf, type Seen } from './confirmation.planner.js';
import { nodeFact, Story } from './remediation.fixtures.js';
import { AT_ONCE_MAX, REBOOT_LIMIT_MS } from './remediation.planner.js';

const MINUTES = 60;
const CHECK = { unhealthyAfter: '5m', startupTimeout: '10m', maxUnhealthy: 1 };

const web = (check: object = {}, nodes = 3): Story => new Story({ web: nodes }, { web: { ...CHECK, ...check } });
const typesOf = (facts: readonly Fact[]): readonly string[] => facts.map(({ type }) => type);
const requestId = 'remediation-1';

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

  it('when its machine has a different private address than the one with which it joined, and is replaced, because a reboot does not help', () => {
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

describe('remediation of a pool', () => {
  it('is suspended while more nodes than maxUnhealthy are unhealthy: recorded once, with the numbers, and when it ends [Cluster API 26, azimuth 31]', () => {
    const story = web()
      .notReady('web-1')
      .after(4 * MINUTES)
      .notReady('web-2')
      .after(1 * MINUTES);
    expect(story.settle()).toEqual([
      {
        type: 'RemediationSuspended',
        data: { uid, pool: 'web', reason: 'TooManyUnhealthy', unhealthy: 2, total: 3, limit: 1 },
      },
    ]);
    expect(story.after(10 * MINUTES).settle()).toEqual([]);
    story.ready('web-2');
    expect(typesOf(story.settle())).toEqual(['RemediationResumed', 'RemediationRequested']);
  });

  it('is suspended outside unhealthyRange [Cluster API 26]', () => {
    const story = web({ maxUnhealthy: undefined, unhealthyRange: '[2-3]' }, 6)
      .notReady('web-1')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([
      { type: 'RemediationSuspended', data: { unhealthy: 1, limit: 3, least: 2 } },
    ]);
    story.notReady('web-2');
    expect(typesOf(story.settle())).toEqual(['RemediationResumed', 'RemediationRequested']);
  });

  it('counts a node as soon as it is not healthy, so that nodes failing one by one are not replaced one by one', () => {
    const story = web({ maxUnhealthy: '40%' }, 5);
    for (let index = 1; index <= 3; index += 1) story.notReady(`web-${index}`).after(1 * MINUTES);
    expect(typesOf(story.after(4 * MINUTES).settle())).toEqual(['RemediationSuspended']);
  });

  it('counts a node and its replacement as one unhealthy node until both are done', () => {
    const story = web({ maxUnhealthy: 1 }, 4)
      .lost('web-1')
      .after(5 * MINUTES);
    story.settle();
    story
      .gone('web-1')
      .notReady('web-2')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([
      { type: 'RemediationSuspended', data: { unhealthy: 2, total: 4, limit: 1 } },
    ]);
    story.create('web-5', 'web', requestId);
    expect(story.settle()).toEqual([]);
    story.ready('web-5');
    expect(typesOf(story.settle())).toEqual(['RemediationSucceeded', 'RemediationResumed', 'RemediationRequested']);
  });

  it(`never affects more than ${AT_ONCE_MAX} nodes at the same time`, () => {
    const names = Array.from({ length: 12 }, (_, index) => `web-${index + 1}`);
    const story = web({ maxUnhealthy: '100%' }, 40)
      .notReady(...names)
      .after(5 * MINUTES);
    expect(story.settle()).toHaveLength(AT_ONCE_MAX);
  });

  it('is suspended while an implausible share of all nodes looks dead (E1)', () => {
    const story = new Story({ web: 2, other: 4 }, { web: { ...CHECK, maxUnhealthy: '100%' } });
    story.lost('web-1', 'other-1', 'other-2', 'other-3').after(5 * MINUTES);
    expect(story.settle()).toMatchObject([
      { type: 'RemediationSuspended', data: { reason: 'Meltdown', unhealthy: 4, total: 9, limit: 3 } },
    ]);
    story.recovered('other-1');
    expect(typesOf(story.settle())).toEqual(['RemediationResumed', 'RemediationRequested']);
  });

  it('is suspended by E1 even if one of the nodes that look dead is being replaced for that reason', () => {
    const story = new Story({ web: 3, other: 6 }, { web: { ...CHECK, remediation: 'replace', maxUnhealthy: '100%' } });
    story.lost('web-1', 'other-1', 'other-2', 'other-3').after(5 * MINUTES);
    expect(typesOf(story.settle())).toEqual(['RemediationRequested']);
    story.lost('web-2').after(5 * MINUTES);
    expect(story.settle()).toMatchObject([
      { type: 'RemediationSuspended', data: { reason: 'Meltdown', unhealthy: 5, total: 12, limit: 4 } },
    ]);
  });

  it('does not count a node that a user removes as dead, because it is expected to fall silent (E1)', () => {
    const story = new Story({ web: 3, other: 6 }, { web: { ...CHECK, maxUnhealthy: '100%' } });
    story.say(nodeFact('NodeRemovalRequested', 'other-1', {}));
    story.lost('web-1', 'other-1', 'other-2', 'other-3', 'other-4').after(5 * MINUTES);
    expect(typesOf(story.settle())).toEqual(['RemediationRequested']);
  });

  it.each([
    ['UpgradeInProgress', 'RolloutStarted', 'RolloutCompleted'],
    ['UpgradeInProgress', 'RolloutStarted', 'RolloutAborted'],
    ['RestoreInProgress', 'EtcdRestoreRequested', 'EtcdRestored'],
    ['RestoreInProgress', 'EtcdRestoreRequested', 'EtcdRestoreFailed'],
  ])('is suspended as %s from %s to %s', (reason, begins, ends) => {
    const story = web()
      .say({ type: begins, data: { uid } } as unknown as Fact)
      .notReady('web-1')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([{ type: 'RemediationSuspended', data: { reason } }]);
    story.say({ type: ends, data: { uid } } as unknown as Fact);
    expect(typesOf(story.settle())).toEqual(['RemediationResumed', 'RemediationRequested']);
  });

  it('is no longer suspended after its health check is withdrawn', () => {
    const story = web()
      .notReady('web-1', 'web-2')
      .after(5 * MINUTES);
    story.settle();
    expect(typesOf(story.check({ web: undefined }).settle())).toEqual(['RemediationResumed']);
  });
});

describe('control planes', () => {
  const cluster = (check: object = {}, etcd: 'local' | 'external' = 'local'): Story => {
    const checks = { 'control-plane': { ...CHECK, maxUnhealthy: '100%', remediation: 'reboot', ...check } };
    return new Story({ web: 3 }, checks, etcd);
  };

  it('are remediated one at a time', () => {
    const story = new Story({ web: 3 }, { 'control-plane': { ...CHECK, maxUnhealthy: '100%', remediation: 'reboot' } });
    story
      .join('cp-4', 'control-plane')
      .join('cp-5', 'control-plane')
      .notReady('cp-1', 'cp-2')
      .after(5 * MINUTES);
    expect(story.candidates).toEqual(['cp-1', 'cp-2']);
    expect(story.settle()).toMatchObject([{ type: 'RemediationRequested', data: { node: 'cp-1' } }]);
    story.ready('cp-1');
    expect(story.settle()).toMatchObject([{ type: 'RemediationSucceeded' }, { data: { node: 'cp-2' } }]);
  });

  it('are rebooted after a snapshot of etcd, or when none can be taken: a reboot may be the cure', () => {
    const story = cluster().notReady('cp-1');
    const [requested] = story.after(5 * MINUTES).settle();
    const requestId = requested?.type === 'RemediationRequested' ? requested.data.requestId : '';
    expect(story.tasks).toEqual([]);
    const cause = { operation: 'save etcd', target: 'cp-2', message: 'no room' };
    const answers = [
      nodeFact('EtcdSnapshotTaken', 'cp-2', { requestId, snapshot: 's' }),
      nodeFact('EtcdSnapshotFailed', 'cp-2', { requestId, cause }),
    ];
    for (const answer of answers) {
      const one = cluster().notReady('cp-1');
      one.after(5 * MINUTES).settle();
      // Its timeout starts when it may be rebooted.
      one.after(9 * MINUTES).say(answer);
      expect(one.tasks).toEqual([`RebootNode/${requestId}`]);
      expect(one.after(9 * MINUTES).facts).toEqual([]);
      expect(one.after(2 * MINUTES).facts).toMatchObject([{ type: 'RemediationFailed' }]);
    }
    const young = cluster()
      .notReady('cp-1')
      .say(nodeFact('EtcdSnapshotTaken', 'cp-2', { requestId: null }));
    young.after(5 * MINUTES).settle();
    expect(young.tasks).toEqual([`RebootNode/${requestId}`]);
  });

  it('are not remediated if etcd would lose its quorum', () => {
    const story = cluster()
      .notReady('cp-1', 'cp-2')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([
      { type: 'RemediationSuspended', data: { reason: 'NoQuorum', unhealthy: 2, total: 3, limit: 1 } },
    ]);
  });

  it('are not remediated while a user replaces or removes another one [Cluster API 21]', () => {
    const order = 'create-first' as const;
    const story = cluster().join('cp-4', 'control-plane').join('cp-5', 'control-plane');
    story.say(nodeFact('NodeReplacementRequested', 'cp-2', { requestId: 'r', order, reason: '' }));
    story.join('cp-6', 'control-plane', 'r');
    story.notReady('cp-3').after(5 * MINUTES);
    expect(story.settle()).toMatchObject([{ type: 'RemediationSuspended', data: { reason: 'ControlPlaneChanging' } }]);
    story.say(nodeFact('NodeReplacementReady', 'cp-2', { requestId: 'r', newNode: 'cp-6' }));
    expect(story.settle()).toEqual([]);
    expect(typesOf(story.gone('cp-2').settle())).toEqual(['RemediationResumed', 'RemediationRequested']);
  });

  it.each([
    ['notReady', 'create-first'],
    ['lost', 'remove-first'],
  ] as const)('are replaced, the initial one included: %s, %s', (unwell, order) => {
    const story = cluster({ remediation: 'replace' })
      [unwell]('cp-1')
      .after(5 * MINUTES);
    const data = { node: 'cp-1', action: 'replace', order };
    expect(story.settle()).toMatchObject([{ type: 'RemediationRequested', data }]);
  });

  it('are also replaced if members of an external etcd run on their nodes, but only while these have their quorum', () => {
    const story = cluster({ remediation: 'replace', maxUnhealthy: '100%' }, 'external');
    story.notReady('cp-1').after(5 * MINUTES);
    expect(story.settle()).toMatchObject([{ type: 'RemediationRequested', data: { node: 'cp-1' } }]);
    const others = cluster({ remediation: 'replace', maxUnhealthy: '100%' }, 'external');
    others
      .notReady('cp-1')
      .notReady('cp-2')
      .after(5 * MINUTES);
    expect(others.settle()).toMatchObject([{ type: 'RemediationSuspended', data: { reason: 'NoQuorum' } }]);
  });
});

describe('a node that cannot be remediated', () => {
  it.each([
    ['RemediationDisabled', { remediation: 'none' }, false],
    ['RebootImpossible', { remediation: 'reboot' }, true],
  ])('is not remediated: %s, recorded once', (reason, check, lost) => {
    const story = web(check);
    if (lost) story.lost('web-1');
    else story.notReady('web-1');
    expect(story.after(5 * MINUTES).settle()).toMatchObject([{ type: 'RemediationSkipped', data: { reason } }]);
    expect(story.after(5 * MINUTES).settle()).toEqual([]);
  });

  it('does not suspend remediation of its pool', () => {
    const story = web({ remediation: 'none' })
      .notReady('web-1', 'web-2')
      .after(5 * MINUTES);
    expect(typesOf(story.settle())).toEqual(['RemediationSkipped', 'RemediationSkipped']);
  });
});

describe('retries', () => {
  const failedReplacement: Fact = {
    type: 'VmsFailed',
    data: {
      uid,
      requestId,
      machines: [],
      onFailure: 'rollback',
      reason: 'r',
      step: 's',
      cause: { operation: 'create machines', target: 'lab', message: 'no capacity' },
    },
  } as unknown as Fact;

  it('wait for retryPeriod after the start of the last attempt [Cluster API 26]', () => {
    const story = web({ retryPeriod: '20m' })
      .notReady('web-1')
      .after(5 * MINUTES);
    story.settle();
    const requestedAt = story.now;
    story.after(1 * MINUTES).say(failedReplacement);
    expect(story.settle()).toMatchObject([{ type: 'RemediationFailed', data: { cause: { message: 'no capacity' } } }]);
    expect([story.candidates, story.wakeAt]).toEqual([[], later(requestedAt, 20 * MINUTES * 1_000)]);
    expect(story.after(19 * MINUTES).settle()).toMatchObject([{ type: 'RemediationRequested', data: { attempt: 2 } }]);
  });

  it('end after maxRetries, which is recorded; replacements inherit the count of the nodes that they replaced [Cluster API 26]', () => {
    const story = web({ maxRetries: 1, retryPeriod: '0s' })
      .lost('web-1')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([{ data: { attempt: 1 } }]);
    story
      .gone('web-1')
      .join('web-4', 'web', 'remediation-1')
      .lost('web-4')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([{ type: 'RemediationSucceeded' }, { data: { node: 'web-4', attempt: 2 } }]);
    story
      .gone('web-4')
      .join('web-5', 'web', 'remediation-2')
      .lost('web-5')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([
      { type: 'RemediationSucceeded' },
      { type: 'RemediationSkipped', data: { node: 'web-5', reason: 'RetriesExhausted' } },
    ]);
  });

  it('start again for a node that was healthy for minHealthyPeriod [Cluster API 26]', () => {
    const story = web({ maxRetries: 0, minHealthyPeriod: '1h' })
      .lost('web-1')
      .after(5 * MINUTES);
    story.settle();
    story.gone('web-1').join('web-4', 'web', 'remediation-1');
    story.settle();
    story
      .after(60 * MINUTES)
      .lost('web-4')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([{ type: 'RemediationRequested', data: { node: 'web-4', attempt: 1 } }]);
  });
});

describe('a reboot', () => {
  const reboot = (check: object = {}): Story => {
    const story = web({ remediation: 'reboot-then-replace', ...check })
      .notReady('web-1')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([{ type: 'RemediationRequested', data: { action: 'reboot', attempt: 1 } }]);
    return story;
  };
  const desired = (change?: string): Fact =>
    nodeFact('DesiredVersionsSet', 'web-1', {
      revision: 2,
      software: {},
      changesAllowed: change !== undefined,
      ...(change === undefined ? {} : { change: { id: change } }),
    });

  it('is permitted to its agent, and the permission is withdrawn when the node is healthy again', () => {
    const story = reboot();
    expect(story.tasks).toEqual([`RebootNode/${requestId}`]);
    story.say(desired(requestId));
    expect(story.tasks).toEqual([]);
    story.after(2 * MINUTES).ready('web-1');
    expect(story.settle()).toMatchObject([
      { type: 'RemediationSucceeded', data: { action: 'reboot', tookMs: 120_000 } },
    ]);
    expect(story.tasks).toEqual([`WithdrawReboot/${requestId}`]);
    expect(story.say(desired()).tasks).toEqual([]);
  });

  it('that does not help is followed by a replacement at once, as part of the same attempt', () => {
    const story = reboot();
    expect(story.wakeAt).toBe(later(story.now, REBOOT_LIMIT_MS));
    expect(story.after(REBOOT_LIMIT_MS / 1_000).settle()).toMatchObject([
      { type: 'RemediationFailed', data: { action: 'reboot' } },
      { type: 'RemediationRequested', data: { action: 'replace', attempt: 1, order: 'create-first' } },
    ]);
  });

  it('is skipped if the agent does not respond', () => {
    const story = web({ remediation: 'reboot-then-replace' })
      .lost('web-1')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([{ data: { action: 'replace', attempt: 1 } }]);
  });

  it('alone is repeated after retryPeriod', () => {
    const story = reboot({ remediation: 'reboot', retryPeriod: '20m' });
    expect(typesOf(story.after(REBOOT_LIMIT_MS / 1_000).settle())).toEqual(['RemediationFailed']);
    expect(story.after(10 * MINUTES).settle()).toMatchObject([{ data: { action: 'reboot', attempt: 2 } }]);
  });
});

describe('a replacement', () => {
  it('by a user is left to finish, unless it fails', () => {
    const order = 'create-first' as const;
    const story = web().say(nodeFact('NodeReplacementRequested', 'web-1', { requestId: 'r', order, reason: '' }));
    story.notReady('web-1').after(5 * MINUTES);
    expect(story.settle()).toEqual([]);
    story.say({ type: 'NodesRejected', data: { uid, requestId: 'r', code: 'c', message: 'no' } } as unknown as Fact);
    expect(typesOf(story.settle())).toEqual(['RemediationRequested']);
  });

  it('has succeeded when the new node is Ready and the old machine is gone', () => {
    const story = web()
      .notReady('web-1')
      .after(5 * MINUTES);
    story.settle();
    story.after(2 * MINUTES).join('web-4', 'web', requestId);
    expect(story.settle()).toEqual([]);
    expect(story.gone('web-1').settle()).toEqual([
      {
        type: 'RemediationSucceeded',
        data: {
          uid,
          requestId,
          node: 'web-1',
          pool: 'web',
          action: 'replace',
          replacement: 'web-4',
          tookMs: 120_000,
        },
      },
    ]);
  });

  it('has failed when the new machine disappears', () => {
    const story = web()
      .lost('web-1')
      .after(5 * MINUTES);
    story.settle();
    story.gone('web-1').create('web-4', 'web', requestId).gone('web-4');
    expect(typesOf(story.settle())).toEqual(['RemediationFailed']);
  });
});

describe('a cluster that was paused', () => {
  const pausedFor = (story: Story, minutes: number): Story =>
    story
      .say({ type: 'ClusterPaused', data: { uid, reason: '' } })
      .after(minutes * MINUTES)
      .say({ type: 'ClusterResumed', data: { uid, reason: '' } });

  it('has the whole unhealthyAfter again for a node that was not Ready during the pause', () => {
    const story = pausedFor(web().notReady('web-1').after(MINUTES), 60);
    expect(story.wakeAt).toBe(later(story.now, 5 * MINUTES * 1_000));
    expect(story.after(5 * MINUTES - 1).candidates).toEqual([]);
    expect(story.after(1).candidates).toEqual(['web-1']);
  });

  it('has the whole startupTimeout again for a machine that could not become a node during the pause', () => {
    const story = pausedFor(web().create('web-4', 'web').after(MINUTES), 60);
    expect(story.after(10 * MINUTES - 1).candidates).toEqual([]);
    expect(story.after(1).candidates).toEqual(['web-4']);
  });

  it('has the whole timeout again for a reboot that was requested before', () => {
    const story = web({ remediation: 'reboot' })
      .notReady('web-1')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([{ data: { action: 'reboot' } }]);
    pausedFor(story, 60);
    expect(story.after(10 * MINUTES - 1).settle()).toEqual([]);
    expect(typesOf(story.after(1).settle())).toContain('RemediationFailed');
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
