import { describe, expect, it } from '@jest/globals';
import { explore, started, withFacts, withLeader, type World } from '../../test/exploration.js';
import { cp, modelOf, type Model } from '../../test/model.js';
import { asked, beginning, toVersion } from '../../test/rollout.story.js';
import { ABSENT } from './rollout.state.js';

const STATES_MAX = 400_000;
const TIMEOUT_MS = 300_000;

const TWO_AT_ONCE = { workers: { maxUnavailable: 2, canary: false }, failedShareMax: '100%' };

const worldOf = (
  model: Model,
  budget: { readonly moves: number; readonly failures: number; readonly aborts?: number },
  strategy: Record<string, unknown> = TWO_AT_ONCE,
): World => {
  const facts = beginning(model, '1.33.13').map(([, fact]) => fact);
  const world: World = { rollout: ABSENT, model, ...budget };
  return started(withFacts(world, ...facts, asked(toVersion('v1.34.4'), strategy)));
};

describe('3 control planes and 3 workers, two at a time: every order, and a crash at every point', () => {
  it.each([cp(1), cp(2), cp(3)])(
    'no state violates skew, quorum or budget, and every path completes: %s leads etcd',
    (leader) => {
      const explored = explore(
        worldOf(withLeader(modelOf(3, 3, '1.33.13'), leader), { moves: 1, failures: 0 }),
        2,
        STATES_MAX,
      );
      expect(explored.harm).toEqual([]);
      expect(explored.badEnds).toEqual([]);
      expect(explored.states).toBeGreaterThan(1_000);
    },
    TIMEOUT_MS,
  );

  it(
    'nor does any state after a permanent failure at any point, and a retry from there completes',
    () => {
      const explored = explore(worldOf(modelOf(3, 3, '1.33.13'), { moves: 0, failures: 1 }), 2, STATES_MAX);
      expect(explored.harm).toEqual([]);
      expect(explored.badEnds).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

interface Surge {
  readonly workers: number;
  readonly maxUnavailable: number;
  readonly maxSurge: number;
}

describe('workers with surge nodes: every order, and a crash at every point', () => {
  const SURGES: readonly Surge[] = [
    { workers: 3, maxUnavailable: 0, maxSurge: 1 },
    { workers: 3, maxUnavailable: 0, maxSurge: 2 },
    { workers: 3, maxUnavailable: 1, maxSurge: 1 },
  ];
  const look = (
    { workers, maxUnavailable, maxSurge }: Surge,
    may: { readonly failures: number; readonly aborts: number },
    changed: (model: Model) => Model = (model) => model,
  ): void => {
    const strategy = { workers: { maxUnavailable, maxSurge, canary: false }, failedShareMax: '100%' };
    const world = worldOf(changed(modelOf(1, workers, '1.33.13')), { moves: 0, ...may }, strategy);
    const explored = explore(world, maxUnavailable, STATES_MAX);
    expect(explored.harm).toEqual([]);
    expect(explored.badEnds).toEqual([]);
    expect(explored.states).toBeGreaterThan(90);
  };

  it.each(SURGES)(
    '$workers with maxSurge $maxSurge: never more than $maxUnavailable fewer than requested, and no surge node at the end',
    (surge) => look(surge, { failures: 0, aborts: 0 }),
    TIMEOUT_MS,
  );

  it.each(SURGES)(
    'nor after a permanent failure at any point and a retry: $workers with maxSurge $maxSurge, maxUnavailable $maxUnavailable',
    (surge) => look(surge, { failures: 1, aborts: 0 }),
    TIMEOUT_MS,
  );

  it.each(SURGES)(
    'nor after an abort at any point: $workers with maxSurge $maxSurge, maxUnavailable $maxUnavailable',
    (surge) => look(surge, { failures: 0, aborts: 1 }),
    TIMEOUT_MS,
  );

  it.each<[string, (model: Model) => Model, number]>([
    ['does not join', (model) => ({ ...model, surge: { ...model.surge, unfit: true } }), 1],
    ['is the last that there is', (model) => ({ ...model, surge: { ...model.surge, stock: 1 } }), 1],
    // Time does not pass in this search, so an early end does not release it again.
    ['cannot be taken out when it must go', (model) => ({ ...model, surge: { ...model.surge, stays: 1 } }), 0],
  ])(
    'nor with a surge machine that %s, with any failure and an abort at any point',
    (_what, changed, aborts) => {
      look({ workers: 3, maxUnavailable: 0, maxSurge: 1 }, { failures: 1, aborts: 0 }, changed);
      look({ workers: 3, maxUnavailable: 0, maxSurge: 1 }, { failures: 0, aborts }, changed);
    },
    TIMEOUT_MS,
  );

  it(
    'nor if a pool that may have unavailable nodes continues without them, with an abort at any point',
    () =>
      look({ workers: 3, maxUnavailable: 1, maxSurge: 2 }, { failures: 0, aborts: 1 }, (model) => ({
        ...model,
        surge: { ...model.surge, stock: 1 },
      })),
    TIMEOUT_MS,
  );
});
