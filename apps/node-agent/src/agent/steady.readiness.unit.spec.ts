import { describe, expect, it } from '@jest/globals';
import { SteadyReadiness } from './steady.readiness.js';

const MINUTE_MS = 60_000;

describe('a node that Kubernetes reports Ready again', () => {
  const after = (...spells: readonly (readonly [ready: boolean, ms: number])[]): number => {
    const steadiness = new SteadyReadiness();
    let nowMs = 1_000;
    for (const [ready, ms] of spells) {
      steadiness.see(ready, nowMs);
      nowMs += ms;
    }
    return steadiness.waitMs(nowMs);
  };
  const DOWN = [false, 10_000] as const;

  it('counts at once, the first time and after ten minutes of being Ready', () => {
    expect(after([true, 1_000], DOWN, [true, 0])).toBe(0);
    expect(after([true, 1_000], DOWN, [true, 1_000], DOWN, [true, 10 * MINUTE_MS], DOWN, [true, 0])).toBe(0);
  });

  it('has to stay Ready twice as long after each relapse, up to a minute', () => {
    const relapses = (count: number): number =>
      after([true, 1_000], ...Array.from({ length: count }, () => [DOWN, [true, 0]] as const).flat());
    expect([1, 2, 3, 4, 5, 6, 20].map(relapses)).toEqual([0, 5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it('is steady once it has stayed Ready for that long', () => {
    expect(after([true, 1_000], DOWN, [true, 1_000], DOWN, [true, 4_000])).toBe(1_000);
    expect(after([true, 1_000], DOWN, [true, 1_000], DOWN, [true, 5_000])).toBe(0);
  });

  it('is not steady if its kubelet crashes every half minute', () => {
    const steadiness = new SteadyReadiness();
    const steady: boolean[] = [];
    for (let nowMs = 0; nowMs < 20 * MINUTE_MS; nowMs += 1_000) {
      const ready = nowMs % 30_000 < 20_000;
      steadiness.see(ready, nowMs);
      steady.push(ready && steadiness.waitMs(nowMs) === 0);
    }
    const changes = steady.filter((is, at) => at > 0 && is !== steady[at - 1]).length;
    expect([changes < 12, steady.at(-15)]).toEqual([true, false]);
  });
});
