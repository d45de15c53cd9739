import type { Fact } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { describe, expect, it } from '@jest/globals';
import { uid } from '../nodes/nodes.fixtures.js';
import { nodeFact, Story } from './remediation.fixtures.js';
import { AT_ONCE_MAX } from './remediation.planner.js';
import { MINUTES, CHECK, web, typesOf, requestId } from './remediation.spec.fixtures.js';

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
