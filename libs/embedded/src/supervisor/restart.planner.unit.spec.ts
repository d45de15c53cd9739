import { describe, expect, it } from '@jest/globals';
import { planRestart, type RestartPolicy } from './restart.planner.js';

const policy: RestartPolicy = { crashesMax: 4, windowMs: 1_000, delayMs: 100, delayMaxMs: 300 };

describe('a process that crashed', () => {
  it('is started again, each time later, up to a limit', () => {
    const delays = [[0], [0, 10], [0, 10, 20]].map((crashes) => planRestart(crashes, policy));
    expect(delays).toEqual([
      { type: 'restart', delayMs: 100 },
      { type: 'restart', delayMs: 200 },
      { type: 'restart', delayMs: 300 },
    ]);
  });

  it('is given up when it crashed too often within the window', () =>
    expect(planRestart([0, 10, 20, 30], policy)).toEqual({ type: 'give-up', crashes: 4 }));

  it('is forgiven the crashes before the window', () =>
    expect(planRestart([0, 10, 20, 1_500], policy)).toEqual({ type: 'restart', delayMs: 100 }));
});
