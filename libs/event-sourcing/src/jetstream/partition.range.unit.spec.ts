import { describe, expect, it } from '@jest/globals';
import { partitionRange } from './partition.range.js';

describe('a part of the log read in one pass', () => {
  const range = partitionRange(
    new Map([
      [1, 10],
      [2, 40],
      [3, 5],
    ]),
    new Map([
      [1, 30],
      [2, 50],
      [3, 5],
      [4, 20],
    ]),
  );

  it('begins at the partition that is furthest behind, and ends at the one furthest ahead', () =>
    expect([range?.first, range?.last]).toEqual([0, 50]));

  it.each([
    [1, 10, false],
    [1, 11, true],
    [1, 30, true],
    [1, 31, false],
    [2, 40, false],
    [2, 50, true],
    [3, 4, false],
    [3, 6, false],
    [4, 1, true],
    [4, 21, false],
    [5, 1, false],
  ])('for partition %d and message %d: %s', (partition, seq, expected) =>
    expect(range?.has(partition, seq)).toBe(expected),
  );

  it('does not begin with a partition that has nothing to read', () =>
    expect(
      partitionRange(
        new Map([[1, 10]]),
        new Map([
          [1, 20],
          [2, 0],
        ]),
      )?.first,
    ).toBe(10));

  it('is empty if every partition has caught up', () =>
    expect(partitionRange(new Map([[1, 10]]), new Map([[1, 10]]))).toBeUndefined());
});
