import { describe, expect, it } from '@jest/globals';
import { explore, started, told, withLeader, type World } from '../../test/exploration.js';
import { cp, modelOf, type Model } from '../../test/model.js';
import { asked, beginning, toVersion } from '../../test/rollout.story.js';
import { ABSENT } from './rollout.state.js';

const STATES_MAX = 400_000;
const TIMEOUT_MS = 300_000;

const worldOf = (model: Model, budget: { readonly moves: number; readonly failures: number }): World => {
  const facts = beginning(model, '1.33.13').map(([, fact]) => fact);
  const world: World = { rollout: ABSENT, model, ...budget };
  const strategy = { workers: { maxUnavailable: 2, canary: false }, failedShareMax: '100%' };
  return started(told(world, ...facts, asked(toVersion('v1.34.4'), strategy)));
};

describe('3 control planes and 3 workers, two at a time: every order, and a crash at every point', () => {
  it.each([cp(1), cp(2), cp(3)])(
    'no state breaks skew, quorum or budget, and every way ends well: %s leads etcd',
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
    'nor does any state after a failure for good at any point, and a retry from there ends well',
    () => {
      const explored = explore(worldOf(modelOf(3, 3, '1.33.13'), { moves: 0, failures: 1 }), 2, STATES_MAX);
      expect(explored.harm).toEqual([]);
      expect(explored.badEnds).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
