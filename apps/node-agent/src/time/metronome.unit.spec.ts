import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { backoffMs } from './backoff.js';
import { Metronome, TICK_MS } from './metronome.js';

describe('the metronome', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('runs a task once, not before its time and at most two ticks after it', () => {
    const metronome = new Metronome();
    const task = jest.fn();
    metronome.after(1_000, task);
    jest.advanceTimersByTime(999);
    expect(task).not.toHaveBeenCalled();
    jest.advanceTimersByTime(2 * TICK_MS);
    expect(task).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(10_000);
    expect(task).toHaveBeenCalledTimes(1);
  });

  it('uses one timer for any number of tasks, and none without tasks', () => {
    const metronome = new Metronome();
    for (let count = 0; count < 1_000; count += 1) metronome.after(count, () => undefined);
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(2_000);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('repeats until cancelled, and spreads by jitter', () => {
    const metronome = new Metronome();
    const task = jest.fn();
    const stop = metronome.every(1_000, { jitter: 0.5, random: () => 1 }, task);
    jest.advanceTimersByTime(5_000);
    // Every 500 ms plus a tick.
    expect(task.mock.calls.length).toBeGreaterThanOrEqual(8);
    const count = task.mock.calls.length;
    stop();
    jest.advanceTimersByTime(5_000);
    expect(task).toHaveBeenCalledTimes(count);
  });

  it('wakes the process once a second for all tasks with a long interval, and keeps that interval on average', () => {
    const metronome = new Metronome();
    const moments = new Set<number>();
    let [random, beats] = [0, 0];
    for (let agent = 0; agent < 100; agent += 1)
      metronome.every(10_000, { jitter: 0.1, random: () => (random = (random + 0.37) % 1) }, () => {
        beats += 1;
        moments.add(Date.now());
      });
    jest.advanceTimersByTime(950_000);
    expect(moments.size).toBeLessThanOrEqual(950);
    expect(beats / 100).toBeGreaterThan(97);
    expect(beats / 100).toBeLessThan(103);
  });

  it('may be cancelled from within its task', () => {
    const metronome = new Metronome();
    const task = jest.fn();
    const stop = metronome.every(100, { jitter: 0, random: () => 0 }, () => {
      task();
      stop();
    });
    jest.advanceTimersByTime(2_000);
    expect(task).toHaveBeenCalledTimes(1);
  });

  it('catches up after the process was suspended', () => {
    const metronome = new Metronome();
    const order: number[] = [];
    metronome.after(3_000, () => order.push(3));
    metronome.after(1_000, () => order.push(1));
    jest.advanceTimersByTime(60_000);
    expect(order).toEqual([1, 3]);
  });
});

it('a backoff doubles, is bounded, and randomizes its upper half', () => {
  const policy = { firstMs: 100, maxMs: 1_000 };
  expect([1, 2, 3, 4, 5, 60].map((attempt) => backoffMs(policy, attempt, () => 1))).toEqual([
    100, 200, 400, 800, 1_000, 1_000,
  ]);
  expect(backoffMs(policy, 3, () => 0)).toBe(200);
});
