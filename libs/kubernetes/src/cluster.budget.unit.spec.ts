import { describe, expect, it } from '@jest/globals';
import { ClusterBudget } from './cluster.budget.js';

describe('the budget of a cluster', () => {
  const MEBIBYTE = 1024 * 1024;

  it('is exhausted by bytes, and resets after a minute', () => {
    let nowMs = 5_000;
    const budget = new ClusterBudget(() => nowMs);
    expect(budget.exhausted()).toBeUndefined();
    budget.spend({ bytes: 1_023 * MEBIBYTE });
    expect(budget.exhausted()).toBeUndefined();
    nowMs += 20_000;
    budget.spend({ bytes: MEBIBYTE });
    expect(budget.exhausted()).toBe('it is not asked for another 40 s: its answers had 1024 MiB within a minute');
    nowMs += 40_000;
    expect(budget.exhausted()).toBeUndefined();
  });

  it('is exhausted by the time spent on responses, even if they could not be read', () => {
    let cpuMs = 0;
    const budget = new ClusterBudget(
      () => 0,
      () => cpuMs,
    );
    const take = (ms: number) => () => {
      cpuMs += ms;
      throw new Error('no JSON');
    };
    expect(() => budget.work(take(9_000))).toThrow('no JSON');
    expect(budget.exhausted()).toBeUndefined();
    expect(() => budget.work(take(1_000))).toThrow('no JSON');
    expect(budget.exhausted()).toBe('it is not asked for another 60 s: reading its answers took 10 s within a minute');
  });
});
