import { describe, expect, it } from '@jest/globals';
import { Lanes, lanesOf } from './lanes.js';

const LIMIT = 4;

const filled = (lanes: Lanes, names: readonly string[]): number => {
  let count = 0;
  while (lanes.full(names) === undefined) {
    lanes.enter(names);
    count += 1;
  }
  return count;
};

describe('lanes', () => {
  it('take so many tasks each, whatever the others hold', () => {
    const lanes = new Lanes(LIMIT);
    expect(filled(lanes, ['one'])).toBe(LIMIT);
    expect(lanes.full(['one'])).toBe('one');
    expect(filled(lanes, ['other'])).toBe(LIMIT);
  });

  it('take another task once one has left', () => {
    const lanes = new Lanes(LIMIT);
    filled(lanes, ['one']);
    lanes.leave(['one']);
    expect(filled(lanes, ['one'])).toBe(1);
  });

  it('keep half of their places free of tasks that occupy a second lane', () => {
    const lanes = new Lanes(LIMIT);
    expect(filled(lanes, ['hung', 'one'])).toBe(LIMIT / 2);
    expect(filled(lanes, ['one', 'other'])).toBe(0);
    expect(filled(lanes, ['one'])).toBe(LIMIT / 2);
    expect(filled(lanes, ['hung'])).toBe(LIMIT / 2);
  });

  it('are not full for a task that occupies none', () => {
    const lanes = new Lanes(1);
    filled(lanes, ['one']);
    expect(lanes.full([])).toBeUndefined();
  });

  it('are read from the data of a job, as far as they are strings', () => {
    expect([
      lanesOf({ data: {} }),
      lanesOf({ data: { lanes: 'one' } }),
      lanesOf({ data: { lanes: ['one', 2] } }),
    ]).toEqual([[], [], ['one']]);
  });
});
