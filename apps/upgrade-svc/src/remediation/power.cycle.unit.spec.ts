import { describe, expect, it } from '@jest/globals';
import { nodeFact, Story } from './remediation.fixtures.js';
import { CHECK, MINUTES, requestId, typesOf, web } from './remediation.spec.fixtures.js';

const powered = (story: Story, node: string, managed = true): Story =>
  story.say(nodeFact('VmPowerManaged', node, { managed }));
const check = { remediation: 'reboot-then-replace' };
const failed = (node: string) =>
  nodeFact('VmPowerCycleFailed', node, {
    requestId,
    cause: { operation: 'control power', target: node, message: 'no answer' },
  });

describe('a node whose agent is silent', () => {
  it('is power-cycled before it is replaced, if the power of its host can be switched', () => {
    const story = powered(web(check), 'web-1')
      .lost('web-1')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([
      { type: 'RemediationRequested', data: { node: 'web-1', action: 'reboot', means: 'power' } },
      { type: 'PowerCycleRequested', data: { node: 'web-1', requestId } },
    ]);
    // Its agent has no part in it.
    expect(story.tasks).toEqual([]);
    story
      .say(nodeFact('VmPowerCycled', 'web-1', { requestId }))
      .after(3 * MINUTES)
      .recovered('web-1');
    expect(typesOf(story.settle())).toEqual(['RemediationSucceeded']);
  });

  it('is replaced if it is still silent 20 minutes later', () => {
    const story = powered(web(check), 'web-1')
      .lost('web-1')
      .after(5 * MINUTES);
    story.settle();
    story.say(nodeFact('VmPowerCycled', 'web-1', { requestId })).after(20 * MINUTES - 1);
    expect(story.settle()).toEqual([]);
    expect(story.after(1).settle()).toMatchObject([
      { type: 'RemediationFailed', data: { cause: { message: 'it was not over after 20 minutes' } } },
      { type: 'RemediationRequested', data: { action: 'replace', order: 'remove-first', attempt: 1 } },
    ]);
  });

  it('is replaced at once if its power cannot be switched after all', () => {
    const story = powered(web(check), 'web-1')
      .lost('web-1')
      .after(5 * MINUTES);
    story.settle();
    expect(story.say(failed('web-1')).settle()).toMatchObject([
      { type: 'RemediationFailed', data: { cause: { message: 'no answer' } } },
      { type: 'RemediationRequested', data: { action: 'replace' } },
    ]);
  });

  it('is replaced without it if its inventory has no power settings, or no longer has them', () => {
    const replaced = [{ type: 'RemediationRequested', data: { node: 'web-1', action: 'replace' } }];
    expect(
      web(check)
        .lost('web-1')
        .after(5 * MINUTES)
        .settle(),
    ).toMatchObject(replaced);
    const former = powered(powered(web(check), 'web-1'), 'web-1', false);
    expect(
      former
        .lost('web-1')
        .after(5 * MINUTES)
        .settle(),
    ).toMatchObject(replaced);
  });

  it('stays as it is where only reboots are allowed and its power cannot be switched', () => {
    const only = { remediation: 'reboot' };
    expect(
      web(only)
        .lost('web-1')
        .after(5 * MINUTES)
        .settle(),
    ).toMatchObject([{ type: 'RemediationSkipped', data: { reason: 'RebootImpossible' } }]);
    expect(
      typesOf(
        powered(web(only), 'web-1')
          .lost('web-1')
          .after(5 * MINUTES)
          .settle(),
      ),
    ).toEqual(['RemediationRequested', 'PowerCycleRequested']);
  });

  it('is power-cycled as a control plane after a snapshot of etcd', () => {
    const story = powered(new Story({ web: 1 }, { 'control-plane': { ...CHECK, ...check } }), 'cp-1');
    expect(
      typesOf(
        story
          .lost('cp-1')
          .after(5 * MINUTES)
          .settle(),
      ),
    ).toEqual(['RemediationRequested']);
    story.say(
      nodeFact('EtcdSnapshotFailed', 'cp-2', { requestId, cause: { operation: 'x', target: 'y', message: 'z' } }),
    );
    expect(typesOf(story.settle())).toEqual(['PowerCycleRequested']);
  });
});

describe('a node whose agent answers', () => {
  it('is rebooted by its agent, whatever its power', () => {
    const story = powered(web(check), 'web-1')
      .notReady('web-1')
      .after(5 * MINUTES);
    expect(story.settle()).toMatchObject([{ type: 'RemediationRequested', data: { action: 'reboot' } }]);
    expect(story.tasks).toEqual([`RebootNode/${requestId}`]);
  });
});
