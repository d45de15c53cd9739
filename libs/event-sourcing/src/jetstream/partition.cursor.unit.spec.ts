import { beforeEach, describe, expect, it } from '@jest/globals';
import { PartitionCursor } from './partition.cursor.js';

describe('the cursor of a partition', () => {
  let cursor: PartitionCursor;

  beforeEach(() => {
    cursor = new PartitionCursor(['a', 'b']);
    cursor.load(
      new Map([
        ['a', { seq: 10, epoch: 1 }],
        ['b', { seq: 4, epoch: 0 }],
      ]),
    );
  });

  it('continues from what all consumers have read, and never moves back', () => {
    expect([cursor.lowest(), cursor.highest()]).toEqual([4, 10]);
    cursor.move(['a', 'b'], 7);
    expect([cursor.lowest(), cursor.highest()]).toEqual([7, 10]);
  });

  it('counts the messages that would be read again after a crash', () => {
    expect(cursor.aheadOfDatabase()).toBe(0);
    cursor.move(['a', 'b'], 30);
    expect(cursor.aheadOfDatabase()).toBe(26);
    cursor.wrote(cursor.moves());
    expect(cursor.aheadOfDatabase()).toBe(0);
  });

  it('compares each position with the database, including those that do not move', () => {
    cursor.move(['a'], 12);
    expect(cursor.moves()).toEqual([
      { consumer: 'a', from: { seq: 10, epoch: 1 }, to: 12 },
      { consumer: 'b', from: { seq: 4, epoch: 0 }, to: 4 },
    ]);
  });

  it('keeps what a consumer had read, regardless of later moves', () => {
    const seen = cursor.frozen();
    cursor.move(['a', 'b'], 20);
    expect([seen('a', 10), seen('b', 5), seen('unknown', 1)]).toEqual([true, false, false]);
  });
});
