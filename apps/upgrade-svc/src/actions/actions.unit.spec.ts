import { describe, expect, it } from '@jest/globals';
import { later } from '@fairlead/event-sourcing';
import type { Hook } from '@fairlead/contracts';
import { REQUEST, START, Story } from './actions.fixtures.js';
import { drainSinceOf, entriesOf } from './actions.planner.js';
import { actionsReconciler } from './actions.reconciler.js';

const reboot = (story: Story, node: string): Story => {
  story.cordoned(node).drained(node).allow(node).rebooted(node).uncordoned(node).withdraw(node);
  return story.settle();
};

describe('a request to reboot nodes', () => {
  it('continues with the next node once one is Ready and schedulable again', () => {
    const story = new Story().ask('reboot', ['w-1', 'w-2']).settle();
    expect(story.said).toEqual(['Started w-1']);
    expect(story.tasks).toEqual([`CordonNode/w-1/${REQUEST}`]);
    expect(story.cordoned('w-1').tasks).toEqual([`DrainNode/w-1/${REQUEST}`]);
    expect(story.drained('w-1').tasks).toEqual([`AllowChange/w-1/${REQUEST}`]);
    story.allow('w-1').settle();
    expect(story.tasks).toEqual([]);
    expect(story.rebooted('w-1').tasks).toEqual([`UncordonNode/w-1/${REQUEST}`]);
    expect(story.uncordoned('w-1').said.slice(-2)).toEqual(['Succeeded w-1', 'Started w-2']);
    expect(story.tasks).toEqual([`CordonNode/w-2/${REQUEST}`, `EndChange/w-1/${REQUEST}`]);
    story.withdraw('w-1').settle();
    reboot(story, 'w-2');
    expect(story.said.at(-1)).toBe('Succeeded w-2');
    expect([story.tasks, Object.keys(story.known.open)]).toEqual([[], []]);
  });

  it('reboots as many workers concurrently as it allows, and control planes one at a time', () => {
    const nodes = ['cp-1', 'cp-2', 'cp-3', 'w-1', 'w-2', 'w-3'];
    const story = new Story({ controlPlanes: 3 }).ask('reboot', nodes, { maxUnavailable: 2 }).settle();
    expect(story.said).toEqual(['Started cp-1', 'Started w-1', 'Started w-2']);
    reboot(story, 'cp-1');
    expect(story.said).toContain('Started cp-2');
    expect(story.said).not.toContain('Started cp-3');
  });

  it('contains the boot that was known when it was requested', () => {
    const story = new Story().ask('reboot', ['w-1'], { drain: false }).settle();
    const [task] = actionsReconciler.tasks(story.state, story.now);
    expect(task?.data).toMatchObject({ unlessBooted: { since: START, bootId: 'b1' } });
  });

  it('waits for a node whose agent is away, without blocking others', () => {
    const story = new Story();
    story.tell('NodeLost', { node: 'w-1', lastSeenAt: null, limitMs: 1 }).ask('reboot', ['w-1', 'w-2']).settle();
    expect(story.said).toEqual(['Postponed w-1 AgentAway', 'Started w-2']);
    reboot(story, 'w-2');
    story.after(3_600).tell('NodeRecovered', { node: 'w-1', lostForMs: 1 }).settle();
    expect(story.said.at(-1)).toBe('Started w-1');
  });

  it('is void for a node that has booted since, as its agent reports, and removes the cordon [ORBITER 22]', () => {
    const story = new Story().ask('reboot', ['w-1']).settle();
    story.cordoned('w-1').drained('w-1').allow('w-1').phase('w-1', 'done').settle();
    expect(story.said.at(-1)).toBe('Voided w-1 BootedSince');
    expect(story.tasks).toEqual([`UncordonNode/w-1/${REQUEST}`, `EndChange/w-1/${REQUEST}`]);
    expect(story.uncordoned('w-1').withdraw('w-1').tasks).toEqual([]);
  });

  it('is void for a node that booted while its agent was away, before it is cordoned or drained [ORBITER 22]', () => {
    const story = new Story().tell('NodeLost', { node: 'w-1', lastSeenAt: null, limitMs: 1 });
    story.ask('reboot', ['w-1', 'w-2']).settle().after(3_600);
    const boot = { node: 'w-1', bootIdBefore: 'b1', bootId: 'b2', bootedAt: later(START, 1_000) };
    story.tell('NodeRebooted', boot).tell('NodeRecovered', { node: 'w-1', lostForMs: 1 }).settle();
    expect(story.said).toEqual(['Postponed w-1 AgentAway', 'Started w-2', 'Voided w-1 BootedSince']);
    expect(story.tasks).toEqual([`CordonNode/w-2/${REQUEST}`]);
  });

  it('is void for a node that boots by itself while it is drained, and removes the cordon', () => {
    const story = new Story().ask('reboot', ['w-1']).settle().cordoned('w-1').after(60);
    story.tell('NodeRebooted', { node: 'w-1', bootIdBefore: 'b1', bootId: 'b2', bootedAt: story.now }).settle();
    expect(story.said.at(-1)).toBe('Voided w-1 BootedSince');
    expect(story.tasks).toEqual([`UncordonNode/w-1/${REQUEST}`]);
  });

  it.each([
    ['began before the request and was stated after it', { bootedAt: later(START, -1_000) }],
    ['has no time', {}],
  ])('begins on a node whose latest boot %s', (_which, bootedAt) => {
    const story = new Story().ask('reboot', ['w-1']).after(60);
    story.tell('NodeRebooted', { node: 'w-1', bootIdBefore: 'b1', bootId: 'b2', ...bootedAt }).settle();
    expect(story.said).toEqual(['Started w-1']);
  });

  it('keeps the cordon of another request', () => {
    const story = new Story().ask('cordon', ['w-1'], { requestId: 'c1' }).settle();
    story.record('NodeActionCordoned', 'w-1', { byRequest: true }, 'c1').settle();
    story.ask('reboot', ['w-1']).settle().cordoned('w-1', false).drained('w-1').allow('w-1').rebooted('w-1');
    expect(story.said.at(-1)).toBe('Succeeded w-1');
    expect(story.withdraw('w-1').tasks).toEqual([]);
    expect(story.known.cordons).toEqual({ 'w-1': { requestId: 'c1', stays: true } });
  });

  it('fails if the node is not Ready in time; it remains cordoned, and no further node begins', () => {
    const story = new Story().ask('reboot', ['w-1', 'w-2']).settle();
    story.cordoned('w-1').drained('w-1').allow('w-1').phase('w-1', 'started').phase('w-1', 'done').settle();
    expect(story.wakeAt).toBe(later(START, 15 * 60_000));
    story.after(15 * 60).settle();
    expect(story.said.slice(-2)).toEqual(['Failed w-1', 'Voided w-2 EarlierFailed']);
    expect(story.withdraw('w-1').tasks).toEqual([]);
    expect(story.known.cordons['w-1']).toEqual({ requestId: REQUEST, stays: true });
  });

  it('restarts its time limit when an agent is back that was away during the reboot', () => {
    const story = new Story().ask('reboot', ['w-1'], { drain: false }).settle().allow('w-1').phase('w-1', 'started');
    story.tell('NodeLost', { node: 'w-1', lastSeenAt: null, limitMs: 1 }).after(3_600).settle();
    story.tell('NodeRecovered', { node: 'w-1', lostForMs: 1 }).settle();
    expect(story.said).toEqual(['Started w-1']);
    expect(story.phase('w-1', 'done').ready('w-1', 2).settle().said.at(-1)).toBe('Succeeded w-1');
  });

  it('fails for a node that is away until the request expires', () => {
    const story = new Story().ask('reboot', ['w-1'], { drain: false }).settle().allow('w-1').phase('w-1', 'started');
    story
      .tell('NodeLost', { node: 'w-1', lastSeenAt: null, limitMs: 1 })
      .after(24 * 3_600)
      .settle();
    expect(story.said).toEqual(['Started w-1', 'Failed w-1']);
  });

  it('fails if its agent gives up', () => {
    const story = new Story().ask('reboot', ['w-1'], { drain: false }).settle().allow('w-1');
    expect(story.phase('w-1', 'failed', 2).settle().said).toEqual(['Started w-1']);
    expect(story.phase('w-1', 'failed', 3).settle().said.at(-1)).toBe('Failed w-1');
  });

  it('expires for nodes that could not begin, and for one whose agent does not perform it', () => {
    const story = new Story();
    story.tell('NodeLost', { node: 'w-2', lastSeenAt: null, limitMs: 1 });
    story.ask('reboot', ['w-1', 'w-2']).settle().cordoned('w-1').drained('w-1').allow('w-1');
    story.after(24 * 3_600).settle();
    expect(story.said.slice(-2)).toEqual(['Voided w-1 Expired', 'Voided w-2 Expired']);
    expect(story.tasks).toEqual([`UncordonNode/w-1/${REQUEST}`, `EndChange/w-1/${REQUEST}`]);
  });

  it('is undone where possible when it is cancelled; a reboot in progress is completed', () => {
    const story = new Story().ask('reboot', ['w-1', 'w-2', 'w-3'], { maxUnavailable: 2 }).settle();
    story.cordoned('w-1').cordoned('w-2').drained('w-1').allow('w-1').phase('w-1', 'started');
    story.tell('NodeActionCancelled', { requestId: REQUEST, reason: '' }).settle();
    expect(story.said.slice(-2)).toEqual(['Voided w-2 Cancelled', 'Voided w-3 Cancelled']);
    expect(story.tasks).toEqual([`UncordonNode/w-2/${REQUEST}`]);
    story.phase('w-1', 'done').ready('w-1', 2).settle().uncordoned('w-1');
    expect(story.said.at(-1)).toBe('Succeeded w-1');
  });

  it('does not begin while an upgrade or an etcd restore is in progress, or the node is being changed', () => {
    const story = new Story().tell('RolloutStarted', { upgradeId: 'u', planHash: 'x' }).ask('reboot', ['w-1']).settle();
    expect(story.said).toEqual(['Postponed w-1 UpgradeInProgress']);
    story.tell('EtcdRestoreRequested', { requestId: 'e', snapshot: 's' }).settle();
    story.tell('EtcdRestored', { requestId: 'e', snapshot: 's' }).tell('RolloutCompleted', { upgradeId: 'u' });
    story.tell('NodeReplacementRequested', { requestId: 'x', node: 'w-1', order: 'create-first', reason: '' }).settle();
    expect(story.said.slice(1)).toEqual(['Postponed w-1 RestoreInProgress', 'Postponed w-1 NodeChanging']);
    story.tell('VmDeleted', { name: 'w-1' }).settle();
    expect(story.said.at(-1)).toBe('Voided w-1 NodeGone');
  });

  it('waits with a control plane that etcd needs for its quorum', () => {
    const story = new Story({ controlPlanes: 3 });
    story.tell('NodeNotReady', { node: 'cp-2', revision: 1, reason: 'KubernetesNotReady', message: '' });
    story.ask('reboot', ['cp-1', 'cp-2']).settle();
    expect(story.said).toEqual(['Postponed cp-1 NoQuorum', 'Started cp-2']);
    const alone = new Story({ controlPlanes: 1 }).ask('reboot', ['cp-1']).settle();
    expect(alone.said).toEqual(['Started cp-1']);
  });

  it('restarts its time limits after a pause', () => {
    const story = new Story().ask('reboot', ['w-1'], { drain: false }).settle().allow('w-1').phase('w-1', 'started');
    story
      .after(14 * 60)
      .tell('ClusterResumed', { reason: '' })
      .after(14 * 60)
      .settle();
    expect(story.said).toEqual(['Started w-1']);
  });
});

describe('a request to repair nodes', () => {
  it('drains one after the other, lets its agent repair it, and uncordons it once it is Ready [ORBITER 10]', () => {
    const story = new Story().ask('repair', ['w-1', 'w-2']).settle();
    expect(story.said).toEqual(['Started w-1']);
    story.cordoned('w-1').drained('w-1');
    const [task] = actionsReconciler.tasks(story.state, story.now);
    expect([task?.key, task?.data]).toEqual([
      `AllowChange/w-1/${REQUEST}`,
      expect.not.objectContaining({ unlessBooted: expect.anything() }),
    ]);
    story.allow('w-1').ready('w-1').settle();
    expect(story.tasks).toEqual([]); // Ready with an earlier revision.
    expect(story.repaired('w-1').tasks).toEqual([`UncordonNode/w-1/${REQUEST}`]);
    expect(story.uncordoned('w-1').said.slice(-2)).toEqual(['Succeeded w-1', 'Started w-2']);
  });

  it('begins by itself for a node with drift that needs a drain', () => {
    const drift = { requestId: 'drift-1', node: 'w-1', items: ['packages/kubelet'] };
    expect(new Story().tell('DriftRepairRequested', drift).settle().tasks).toEqual([]);
    const story = new Story().tell('DriftRepairRequested', { ...drift, drain: true }).settle();
    expect([story.said, story.tasks]).toEqual([['Started w-1'], ['CordonNode/w-1/drift-1']]);
  });

  it('fails if the node is not Ready in time; it remains cordoned', () => {
    const story = new Story().ask('repair', ['w-1']).settle().cordoned('w-1').drained('w-1').allow('w-1');
    story
      .phase('w-1', 'started', 1, 'runtime')
      .after(15 * 60)
      .settle();
    expect(story.events.at(-1)?.data).toMatchObject({
      cause: { operation: 'repair', message: 'it was not Ready within 15 minutes after its repair began' },
    });
    expect(story.tasks).toEqual([`EndChange/w-1/${REQUEST}`]);
  });

  it('is undone when it is cancelled before its agent has begun', () => {
    const story = new Story().ask('repair', ['w-1']).settle().cordoned('w-1').drained('w-1').allow('w-1');
    story.tell('NodeActionCancelled', { requestId: REQUEST, reason: '' }).settle();
    expect(story.said.at(-1)).toBe('Voided w-1 Cancelled');
    expect(story.tasks).toEqual([`UncordonNode/w-1/${REQUEST}`, `EndChange/w-1/${REQUEST}`]);
  });
});

describe('a request to drain or cordon nodes', () => {
  it('leaves them cordoned until an uncordon is requested', () => {
    const story = new Story().ask('drain', ['w-1', 'w-2']).settle().cordoned('w-1').drained('w-1');
    expect(story.said).toEqual(['Started w-1', 'Cordoned w-1', 'Drained w-1', 'Succeeded w-1', 'Started w-2']);
    expect(story.known.cordons['w-1']).toEqual({ requestId: REQUEST, stays: true });
    expect(story.tasks).toEqual([`CordonNode/w-2/${REQUEST}`]);
  });

  it('states each refused eviction once', () => {
    const story = new Story().ask('drain', ['w-1']).settle().cordoned('w-1');
    const refusal = { budget: 'shop/web', pods: ['shop/web-0'], message: 'disrupted' };
    story.record('NodeActionEvictionRefused', 'w-1', refusal).record('NodeActionEvictionRefused', 'w-1', refusal);
    expect(story.said.filter((one) => one.startsWith('EvictionRefused'))).toHaveLength(1);
  });

  it('cordons all nodes at once', () => {
    const story = new Story({ controlPlanes: 3 }).ask('cordon', ['cp-1', 'cp-2', 'w-1', 'w-2']).settle();
    expect(story.said).toEqual(['Started cp-1', 'Started cp-2', 'Started w-1', 'Started w-2']);
    expect(story.cordoned('w-1').said.at(-1)).toBe('Succeeded w-1');
  });

  it('fails with the error of the last attempt, and uncordons a drained node', () => {
    const story = new Story().ask('reboot', ['w-1']).settle().cordoned('w-1');
    const cause = { operation: 'drain', target: 'w-1', message: 'shop/web-0 did not leave within 900 s' };
    const [task] = actionsReconciler.tasks(story.state, story.now);
    const failure = { cause, attempt: 1, attemptsMax: 1, nextAttemptAt: null, now: story.now };
    story.say(...(actionsReconciler.failed?.(story.state, task!, failure) ?? [])).settle();
    expect(story.said.at(-1)).toBe('Failed w-1');
    expect(story.tasks).toEqual([`UncordonNode/w-1/${REQUEST}`]);
  });
});

describe('a request to uncordon nodes', () => {
  it('removes the cordon of the request that cordoned them', () => {
    const story = new Story().ask('cordon', ['w-1'], { requestId: 'c1' }).settle();
    story.record('NodeActionCordoned', 'w-1', { byRequest: true }, 'c1').settle().ask('uncordon', ['w-1']).settle();
    const [task] = actionsReconciler.tasks(story.state, story.now);
    expect(task).toMatchObject({ type: 'UncordonNode', data: { cordonedBy: 'c1' } });
    story.uncordoned('w-1', 'c1');
    expect([story.said.at(-1), story.known.cordons]).toEqual(['Succeeded w-1', {}]);
  });

  it('fails for a node that someone else cordoned', () => {
    const story = new Story().ask('uncordon', ['w-1']).settle();
    expect(story.said).toEqual(['Started w-1', 'Failed w-1']);
    expect(story.tasks).toEqual([]);
  });
});

describe('hooks of requested drains', () => {
  const HOOK: Hook = {
    name: 'traffic',
    points: ['BeforeNodeDrain', 'AfterNodeDrain'],
    url: 'https://hooks.example.com',
  };
  const call = (node: string, point = 'BeforeNodeDrain', attempt = 1): string =>
    `CallNodeActionHook/${point}/${node}/${REQUEST}/traffic/${attempt}`;
  const againAt = later(START, 60_000);

  it.each(['drain', 'reboot'] as const)(
    'block the node of a %s before it is cordoned, and are called after it is drained [Cluster API 29]',
    (action) => {
      const story = new Story().declare([HOOK]).ask(action, ['w-1', 'w-2']).settle();
      expect(story.tasks).toEqual([call('w-1')]);
      story.answered('w-1', 'Blocked', { nextAttemptAt: againAt });
      expect([story.tasks, story.wakeAt]).toEqual([[], againAt]);
      expect(story.after(60).tasks).toEqual([call('w-1', 'BeforeNodeDrain', 2)]);
      story.answered('w-1', 'Failed', { attempt: 2, nextAttemptAt: later(START, 120_000) });
      expect(story.after(60).tasks).toEqual([call('w-1', 'BeforeNodeDrain', 3)]);
      expect(story.answered('w-1', 'Succeeded', { attempt: 3 }).tasks).toEqual([`CordonNode/w-1/${REQUEST}`]);
      story.cordoned('w-1').drained('w-1');
      expect(story.tasks).toContain(call('w-1', 'AfterNodeDrain'));
      story.answered('w-1', 'Succeeded', { point: 'AfterNodeDrain' });
      expect(story.tasks).not.toContain(call('w-1', 'AfterNodeDrain'));
      expect(story.known.hooks?.passed).toEqual([]);
    },
  );

  it('that do not respond are ignored with the policy Ignore [Cluster API 29]', () => {
    const story = new Story()
      .declare([{ ...HOOK, failurePolicy: 'Ignore' }])
      .ask('drain', ['w-1'])
      .settle();
    expect(story.answered('w-1', 'Failed', { nextAttemptAt: null }).tasks).toEqual([`CordonNode/w-1/${REQUEST}`]);
  });

  it('block neither a cordon nor a reboot without a drain', () => {
    const story = new Story().declare([HOOK]).ask('cordon', ['w-1']).settle();
    expect(story.tasks).toEqual([`CordonNode/w-1/${REQUEST}`]);
    const reboot = new Story().declare([HOOK]).ask('reboot', ['w-1'], { drain: false }).settle();
    expect(reboot.tasks).toEqual([`AllowChange/w-1/${REQUEST}`]);
  });

  it('do not prevent a request from expiring or being cancelled, nor consume its drain time', () => {
    const held = (): Story => {
      const story = new Story().declare([HOOK]).ask('drain', ['w-1']).settle();
      return story.answered('w-1', 'Blocked', { nextAttemptAt: later(START, 23 * 3_600_000) });
    };
    expect(
      held()
        .after(24 * 3_600)
        .settle()
        .said.at(-1),
    ).toBe('Voided w-1 Expired');
    const cancelled = held().tell('NodeActionCancelled', { requestId: REQUEST, reason: '' }).settle();
    expect(cancelled.said.at(-1)).toBe('Voided w-1 Cancelled');
    const late = held().after(3_600).answered('w-1', 'Succeeded', { attempt: 2 });
    const [entry] = entriesOf(late.known);
    expect(drainSinceOf(late.known, entry!)).toBe(later(START, 3_600_000));
  });

  it('block nothing once they are removed from the manifest', () => {
    const story = new Story().declare([HOOK]).ask('drain', ['w-1']).settle();
    story.answered('w-1', 'Blocked', { nextAttemptAt: againAt }).declare([], 2);
    expect(story.tasks).toEqual([`CordonNode/w-1/${REQUEST}`]);
  });

  it('release a node when they are skipped, and block the next one [Cluster API 29]', () => {
    const story = new Story().declare([HOOK]).ask('drain', ['w-1', 'w-2']).settle();
    story.answered('w-1', 'Blocked', { nextAttemptAt: againAt });
    const skip = { hook: 'traffic', point: 'BeforeNodeDrain', node: 'w-1', requestId: REQUEST, reason: 'it is down' };
    expect(story.tell('HookSkipped', skip).tasks).toEqual([`CordonNode/w-1/${REQUEST}`]);
    story.cordoned('w-1').drained('w-1');
    expect(story.tasks).toContain(call('w-2'));
  });

  it('are called for each request, and a finished request leaves no state', () => {
    const story = new Story().declare([HOOK]).ask('drain', ['w-1']).settle().answered('w-1', 'Succeeded');
    story.cordoned('w-1').drained('w-1').answered('w-1', 'Succeeded', { point: 'AfterNodeDrain' });
    expect(story.known.hooks?.calls).toEqual({});
    story.answered('w-1', 'Succeeded', { point: 'AfterNodeDrain' });
    expect(story.said.filter((one) => one.startsWith('Hook'))).toHaveLength(2);
    story.ask('drain', ['w-1'], { requestId: 'r2' }).settle();
    expect(story.tasks).toEqual(['CallNodeActionHook/BeforeNodeDrain/w-1/r2/traffic/1']);
  });
});

describe('the reboot of a control plane', () => {
  const saved = (requestId: string | null) => ({ requestId, snapshot: 's' });

  it('waits for an etcd snapshot unless there is a recent one', () => {
    const story = new Story().ask('reboot', ['cp-1'], { drain: false }).settle();
    expect([story.said, story.tasks]).toEqual([['Started cp-1'], []]);
    expect(story.tell('EtcdSnapshotTaken', saved('other')).tasks).toEqual([`AllowChange/cp-1/${REQUEST}`]);
    const young = new Story().tell('EtcdSnapshotTaken', saved(null)).after(600);
    expect(young.ask('reboot', ['cp-1'], { drain: false }).settle().tasks).toEqual([`AllowChange/cp-1/${REQUEST}`]);
  });

  it('waits for another one if its drain has taken too long', () => {
    const story = new Story().ask('reboot', ['cp-1']).settle().tell('EtcdSnapshotTaken', saved(null));
    story.cordoned('cp-1').after(1_200).drained('cp-1');
    expect(story.tasks).toEqual([]);
    expect(story.tell('EtcdSnapshotTaken', saved(null)).tasks).toEqual([`AllowChange/cp-1/${REQUEST}`]);
  });

  it('continues if the snapshot fails, because it may be the remedy', () => {
    const story = new Story().ask('reboot', ['cp-1'], { drain: false }).settle();
    const cause = { operation: 'save etcd', target: 'cp-1', message: 'the kubelet does not answer' };
    expect(story.tell('EtcdSnapshotFailed', { requestId: 'other', cause }).tasks).toEqual([]);
    const requestId = `${REQUEST}-cp-1-start`;
    expect(story.tell('EtcdSnapshotFailed', { requestId, cause }).tasks).toEqual([`AllowChange/cp-1/${REQUEST}`]);
  });

  it('of a worker waits for none', () =>
    expect(new Story().ask('reboot', ['w-1'], { drain: false }).settle().tasks).toEqual([
      `AllowChange/w-1/${REQUEST}`,
    ]));
});
