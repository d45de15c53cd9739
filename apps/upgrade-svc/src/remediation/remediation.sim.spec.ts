import { seededRandom } from '@fairlead/testing';
import { describe, expect, it, jest } from '@jest/globals';
import { HealingWorld } from '../../test/healing.world.js';

// Takes seconds on a dedicated machine; longer on a shared one.
jest.setTimeout(600_000);

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const FIRST_SEED = Number(process.env['SIM_SEED'] ?? 1);

describe('nodes that fail, flap and recover at random, under a service that crashes and has downtime', () => {
  it(`are remediated within all limits, and every node that remains unhealthy has a recorded reason (${SEEDS} seeds)`, () => {
    const seen: Record<string, number> = {};
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const world = new HealingWorld(seededRandom(seed));
      world.run();
      expect([seed, world.violations]).toEqual([seed, []]);
      for (const { type } of world.log) seen[type] = (seen[type] ?? 0) + 1;
      seen['crashes'] = (seen['crashes'] ?? 0) + world.crashed;
    }
    // Ensures that the simulation covers these events.
    for (const type of ['RemediationRequested', 'RemediationSucceeded', 'RemediationSuspended', 'RemediationResumed'])
      expect([type, (seen[type] ?? 0) > SEEDS]).toEqual([type, true]);
    for (const type of ['RemediationFailed', 'RemediationSkipped', 'crashes'])
      expect([type, (seen[type] ?? 0) > SEEDS / 4]).toEqual([type, true]);
  });
});
