import { describe, expect, it } from '@jest/globals';
import type { Observation } from './agent.decider.js';
import { difference, KUBERNETES_READY, reportedAfter, seen } from './agent.fixtures.js';
import { plan, type Progress, type Step } from './agent.planner.js';

const differs = seen({ differences: [difference] });
const forbidden = seen({ differences: [difference], desired: { ...seen().desired, changesAllowed: false } });
const untilReady = seen({
  differences: [difference],
  desired: { ...seen().desired, changesAllowedUntil: 'NodeReady' },
});
const CLEAR = { announced: true, retryDue: true };
const READY = [seen({ kubernetes: KUBERNETES_READY })];

interface Case {
  readonly before: readonly Observation[];
  readonly now: Observation;
  readonly progress?: Partial<Progress>;
  readonly expected: Step['do'];
}

describe('the next step', () => {
  it.each<[string, Case]>([
    ['rests when nothing differs', { before: READY, now: seen(), expected: 'rest' }],
    [
      'prepares a fresh host at once, also before the log was reached',
      { before: [], now: differs, progress: { announced: false }, expected: 'ensure' },
    ],
    ['never touches a node that has not announced it', { before: READY, now: differs, expected: 'rest' }],
    [
      'waits until the announcement is in the log',
      { before: [...READY, differs], now: differs, progress: { announced: false }, expected: 'rest' },
    ],
    ['acts when it is', { before: [...READY, differs], now: differs, expected: 'ensure' }],
    ['waits without permission: a fresh host', { before: [], now: forbidden, expected: 'wait' }],
    ['waits without permission: a ready node', { before: READY, now: forbidden, expected: 'wait' }],
    [
      'waits when the permission is withdrawn after the announcement',
      { before: [...READY, differs], now: forbidden, expected: 'wait' },
    ],
    [
      'prepares a fresh host with a permission that ends when it is Ready',
      { before: [], now: untilReady, expected: 'ensure' },
    ],
    [
      'acts with that permission until the node is Ready',
      { before: [seen(), untilReady], now: untilReady, expected: 'ensure' },
    ],
    [
      'waits when that permission ended with the NodeReady of the node',
      { before: [...READY, untilReady], now: untilReady, expected: 'wait' },
    ],
    [
      'waits for the backoff of a failed try',
      { before: [], now: differs, progress: { retryDue: false }, expected: 'rest' },
    ],
  ])('%s', (_title, { before, now, progress, expected }) =>
    expect(plan(reportedAfter(...before), now, { ...CLEAR, ...progress }).do).toBe(expected),
  );

  it('names the items that it concerns', () =>
    expect(plan(reportedAfter(), differs, CLEAR).reason).toBe('first preparation (packages)'));
});
