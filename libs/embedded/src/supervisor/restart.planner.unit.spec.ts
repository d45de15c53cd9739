import { describe, expect, it } from '@jest/globals';
import {
  NO_CRASHES,
  recordEnd,
  RESTART_POLICY,
  restartDelayMs,
  type Ended,
  type RestartRecord,
} from './restart.planner.js';

const CRASH: Ended = { excused: false, servedMs: 0 };
const EXCUSED: Ended = { excused: true, servedMs: 0 };
const after = (ends: readonly Ended[]): RestartRecord =>
  ends.reduce((record, ended) => recordEnd(record, ended, RESTART_POLICY), NO_CRASHES);
const delayAfter = (ends: readonly Ended[], lot = 0): number => restartDelayMs(after(ends), RESTART_POLICY, lot);
const times = (count: number, ended: Ended): readonly Ended[] => Array.from({ length: count }, () => ended);

describe('a process that crashed', () => {
  it('is restarted with backoff, up to a minute', () => {
    expect([1, 2, 3, 4].map((count) => delayAfter(times(count, CRASH)))).toEqual([100, 200, 400, 800]);
    for (const count of [11, 50, 10_000]) expect([count, delayAfter(times(count, CRASH))]).toEqual([count, 60_000]);
  });

  it('waits up to half as long by jitter, so that not all start at the same time', () => {
    expect(delayAfter(times(11, CRASH), 1)).toBe(30_000);
    expect(delayAfter(times(11, CRASH), 0.5)).toBe(45_000);
  });

  it('is forgiven one crash for every five seconds that it was ready', () => {
    expect(after([...times(4, CRASH), { excused: false, servedMs: 11_000 }]).crashes).toBe(3);
    expect(after([...times(4, CRASH), { excused: false, servedMs: 60_000 }]).crashes).toBe(1);
  });
});

describe('a process whose end is excused', () => {
  it('has not crashed, and is restarted within two seconds however often that happens', () => {
    expect(after(times(100, EXCUSED)).crashes).toBe(0);
    expect([1, 2, 100].map((count) => delayAfter(times(count, EXCUSED)))).toEqual([100, 200, 2_000]);
  });

  it('keeps its earlier crashes', () =>
    expect(delayAfter([...times(5, CRASH), EXCUSED, CRASH])).toBe(delayAfter(times(6, CRASH))));
});
