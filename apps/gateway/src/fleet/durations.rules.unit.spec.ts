import { describe, expect, it } from '@jest/globals';
import { durationsOf, type Took } from './durations.rules.js';

const took = (kind: Took['kind'], seconds: number): Took => ({
  kind,
  startedAt: '2026-11-30T10:00:00.000Z',
  finishedAt: new Date(Date.parse('2026-11-30T10:00:00.000Z') + seconds * 1_000).toISOString(),
});

describe('the durations of operations', () => {
  it('are those of each kind: the median, and what nine of ten stay within', () => {
    const creations = Array.from({ length: 10 }, (_, index) => took('create', 100 - index * 10));
    expect(durationsOf([...creations, took('upgrade', 7)])).toEqual([
      { operation: 'create', count: 10, medianMs: 50_000, longMs: 90_000 },
      { operation: 'upgrade', count: 1, medianMs: 7_000, longMs: 7_000 },
    ]);
  });

  it('are none before anything succeeded', () => expect(durationsOf([])).toEqual([]));
});
