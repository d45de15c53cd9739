import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { STATES } from './growth/growth.states.js';
import type { GrowthWorld } from './growth/growth.world.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 25);
const FIRST_SEED = Number(process.env['SIM_SEED'] ?? 1);
/** How far the cluster had progressed when it was paused: before the first task, after each, and late. */
const MOMENTS = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 26, 30];
/** Longer than any timeout. */
const PAUSE_MS = 3 * 24 * 3_600_000;
const PAUSES_MAX = 6;
const TASKS_BETWEEN_MAX = 8;

const PAUSABLE = Object.keys(STATES).filter((state) => state !== 'deleting the cluster');
const CHANGES = ['retry', 'abandon', 'delete'] as const;
const FAILED = /Failed$|Rejected$|Abandoned$/u;

const begun = (state: string): GrowthWorld => STATES[state]!();

const uninterrupted = (state: string): object => {
  const world = begun(state);
  world.run();
  return world.outcome();
};

/** Pauses, lets time pass, delivers everything again, and resumes; returns the effects meanwhile. */
const pauseOnce = (world: GrowthWorld): readonly string[] => {
  world.command('pause');
  expect(world.refused).toBeUndefined();
  const before = world.effects.length;
  world.redeliver();
  world.run();
  world.sleep(PAUSE_MS);
  world.redeliver();
  world.run();
  const meanwhile = world.effects.slice(before).map(({ what }) => what);
  world.command('resume');
  expect(world.refused).toBeUndefined();
  return meanwhile;
};

describe('a cluster that is paused', () => {
  it.each(PAUSABLE)(
    'while %s, at any moment: nothing is done meanwhile, and the outcome is the same as without the pause [Cluster API 30, azimuth 25]',
    (state) => {
      const expected = uninterrupted(state);
      for (const moment of MOMENTS) {
        const world = begun(state);
        if (moment > 0) world.run(moment);
        expect([moment, pauseOnce(world)]).toEqual([moment, []]);
        world.run();
        expect([moment, world.outcome()]).toEqual([moment, expected]);
        expect([moment, world.types().filter((type) => FAILED.test(type))]).toEqual([moment, []]);
      }
    },
  );

  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
    'repeatedly, at random moments, loses nothing (seed %i) [Cluster API 30]',
    (seed) => {
      const random = seededRandom(seed);
      const below = (limit: number): number => Math.floor(random() * limit);
      const state = PAUSABLE[below(PAUSABLE.length)]!;
      const world = begun(state);
      for (let pauses = 1 + below(PAUSES_MAX); pauses > 0; pauses -= 1) {
        world.run(1 + below(TASKS_BETWEEN_MAX));
        if (random() < 0.3) world.redeliver();
        expect([state, pauseOnce(world)]).toEqual([state, []]);
      }
      world.run();
      expect([state, world.outcome()]).toEqual([state, uninterrupted(state)]);
    },
  );

  it.each(PAUSABLE)('while %s, refuses changes, including its deletion [azimuth 25]', (state) => {
    for (const moment of MOMENTS) {
      const world = begun(state);
      if (moment > 0) world.run(moment);
      world.command('pause');
      const { length } = world.events;
      for (const change of CHANGES) {
        world.command(change);
        // If there is nothing to retry or to abandon, that is the reason of the refusal.
        expect([moment, world.refused]).toEqual([
          moment,
          expect.stringMatching(/^(cluster\.paused|cluster\.not-failed|nodes\.nothing-to-abandon)$/u),
        ]);
      }
      expect([moment, world.refused]).toEqual([moment, 'cluster.paused']);
      expect(world.events).toHaveLength(length);
    }
  });
});

describe('a cluster that is being deleted', () => {
  it('cannot be paused at any moment, and leaves no machine [azimuth 25]', () => {
    for (const moment of MOMENTS) {
      const world = begun('deleting the cluster');
      if (moment > 0) world.run(moment);
      world.command('pause');
      expect([moment, world.refused]).toEqual([moment, expect.stringMatching(/^cluster\.(deleting|unknown)$/u)]);
      world.run();
      expect([moment, world.outcome()]).toMatchObject([moment, { status: 'absent', provider: [] }]);
    }
  });
});
