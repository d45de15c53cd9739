import { describe, expect, it } from '@jest/globals';
import { ConcurrencyGroups } from './concurrency.groups.js';

const LIMIT = 4;

const filled = (groups: ConcurrencyGroups, names: readonly string[]): number => {
  let count = 0;
  while (groups.full(names) === undefined) {
    groups.enter(names);
    count += 1;
  }
  return count;
};

describe('concurrency groups', () => {
  it('admit a fixed number of tasks each, whatever the others hold', () => {
    const groups = new ConcurrencyGroups(LIMIT);
    expect(filled(groups, ['one'])).toBe(LIMIT);
    expect(groups.full(['one'])).toBe('one');
    expect(filled(groups, ['other'])).toBe(LIMIT);
  });

  it('admit another task once one has ended', () => {
    const groups = new ConcurrencyGroups(LIMIT);
    filled(groups, ['one']);
    groups.leave(['one']);
    expect(filled(groups, ['one'])).toBe(1);
  });

  it('keep half of their slots free of tasks that belong to a second group', () => {
    const groups = new ConcurrencyGroups(LIMIT);
    expect(filled(groups, ['hung', 'one'])).toBe(LIMIT / 2);
    expect(filled(groups, ['one', 'other'])).toBe(0);
    expect(filled(groups, ['one'])).toBe(LIMIT / 2);
    expect(filled(groups, ['hung'])).toBe(LIMIT / 2);
  });

  it('are never full for a task without groups', () => {
    const groups = new ConcurrencyGroups(1);
    filled(groups, ['one']);
    expect(groups.full([])).toBeUndefined();
  });
});
