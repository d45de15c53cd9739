import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { fetchWindow } from './fetch.window.js';
import { sharedInterval, untilShared, untilSharedAfter } from './shared.interval.js';

const START_MS = Date.UTC(2026, 0, 1, 0, 0, 3, 210);

describe('periodic work of an idle process', () => {
  beforeEach(() => void jest.useFakeTimers({ now: START_MS }));
  afterEach(() => void jest.useRealTimers());

  it('runs at the same times, whenever it started', () => {
    const moments: Record<'often' | 'seldom', number[]> = { often: [], seldom: [] };
    const stops = [sharedInterval(5_000, () => void moments.often.push(Date.now() % 60_000))];
    jest.advanceTimersByTime(1_234);
    stops.push(sharedInterval(10_000, () => void moments.seldom.push(Date.now() % 60_000)));
    jest.advanceTimersByTime(17_000);
    for (const stop of stops) stop();
    jest.advanceTimersByTime(60_000);
    expect(moments).toEqual({ often: [5_000, 10_000, 15_000, 20_000], seldom: [10_000, 20_000] });
  });

  it('runs once per time, even if a timer fires slightly early', () => {
    expect(untilShared(5_000, 9_990)).toBe(5_010);
    expect(untilShared(5_000, 10_000)).toBe(5_000);
    expect(untilShared(5_000, 10_001)).toBe(4_999);
    expect(untilShared(20, 1_015)).toBe(5);
  });

  it('is never early', () => {
    expect(untilSharedAfter(2_100, 1_000, 10_300)).toBe(2_700);
    expect(untilSharedAfter(-Infinity, 1_000, 10_300)).toBe(700);
  });

  it('has fetches that end at these times, with heartbeats that the server accepts', () => {
    for (let ms = 0; ms < 60_000; ms += 777) {
      jest.setSystemTime(START_MS + ms);
      const { expires, idle_heartbeat: heartbeat } = fetchWindow();
      expect(expires).toBeGreaterThanOrEqual(1_000);
      expect(expires).toBeLessThanOrEqual(30_050);
      expect(2 * heartbeat).toBeLessThanOrEqual(expires);
      if (expires > 1_000) expect((Date.now() + expires) % 30_000).toBe(0);
    }
  });
});
