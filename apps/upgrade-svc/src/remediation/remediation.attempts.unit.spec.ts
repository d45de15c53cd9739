import type { Fact } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { describe, expect, it } from '@jest/globals';
import { uid } from '../nodes/nodes.fixtures.js';
import { nodeFact, type Story } from './remediation.fixtures.js';
import { REBOOT_LIMIT_MS } from './remediation.planner.js';
import { MINUTES, web, typesOf, requestId } from './remediation.spec.fixtures.js';

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
