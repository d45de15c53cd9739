import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ManualClock } from './manual.clock.js';
import { TimerQueue } from './timer.queue.js';

describe('The timer queue', () => {
  it('returns due callbacks in order of time, first in first out, without cancelled ones', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ dueMs: fc.integer({ min: 0, max: 50 }), cancelled: fc.boolean() }), { maxLength: 300 }),
        (requests) => {
          const queue = new TimerQueue();
          const ran: number[] = [];
          requests.forEach(({ dueMs, cancelled }, index) => {
            const cancel = queue.add(dueMs, () => ran.push(index));
            if (cancelled) cancel();
          });
          for (let run = queue.takeDue(25); run !== undefined; run = queue.takeDue(25)) run();

          const expected = requests
            .map((request, index) => ({ ...request, index }))
            .filter(({ dueMs, cancelled }) => !cancelled && dueMs <= 25)
            .sort((a, b) => a.dueMs - b.dueMs || a.index - b.index)
            .map(({ index }) => index);
          expect(ran).toEqual(expected);
        },
      ),
    );
  });

  it('lets a running timer set another one within the same advance, at its own time', () => {
    const clock = new ManualClock(0);
    const seen: number[] = [];
    clock.at(10, () => {
      seen.push(clock.now());
      clock.at(15, () => seen.push(clock.now()));
    });

    clock.advance(12);
    expect(seen).toEqual([10]);
    clock.advance(100);
    expect(seen).toEqual([10, 15]);
  });
});
