import { describe, expect, it } from '@jest/globals';
import { DrainPolicy, drainFaults } from './drain.policy.js';

const faults = (policy: object): readonly (string | undefined)[] =>
  drainFaults(DrainPolicy.parse(policy), ['web']).flatMap(({ code, field }) => [code, field]);
const rule = (name: string, more: object = {}) => ({ name, behavior: 'Drain', ...more });

describe('The drain policy of a manifest', () => {
  it('has uniquely named rules for declared pools and control planes', () =>
    expect(
      faults({ rules: [rule('a', { pools: ['web', 'control-plane'], order: 3 }), rule('b')], timeout: '1h' }),
    ).toEqual([]));

  it.each([
    ['two rules of one name', { rules: [rule('a'), rule('a')] }, 'drain.rule-twice', 'spec.drain.rules[1].name'],
    [
      'an order of pods that stay',
      { rules: [rule('a', { behavior: 'Skip', order: 1 })] },
      'drain.rule-order',
      'spec.drain.rules[0].order',
    ],
    [
      'a pool that is not declared',
      { rules: [rule('a', { pools: ['wbe'] })] },
      'drain.rule-pool',
      'spec.drain.rules[0].pools[0]',
    ],
    [
      'more time for volumes than a task has',
      { detachTimeout: '21m' },
      'drain.detach-timeout',
      'spec.drain.detachTimeout',
    ],
  ])('is refused with %s', (_what, policy, code, field) => expect(faults(policy)).toEqual([code, field]));
});
