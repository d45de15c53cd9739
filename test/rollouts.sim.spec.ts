import { rolloutLimits, rolloutOf, type PoolRollout, type StoredEvent } from '@fairlead/contracts';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { GrowthWorld, type Failure } from './growth/growth.world.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const FIRST = Number(process.env['SIM_SEED'] ?? 1);
const CHANGES_MAX = 8;
const RETRIES_MAX = 12;
const TYPES = ['s', 'lab.medium', 'lab.large'];
const FAILURES: readonly Failure[] = ['create', 'join', 'unreachable', 'drain', 'delete'];

const ROLLOUTS: readonly PoolRollout[] = [
  { strategy: 'RollingUpdate', maxSurge: 1, maxUnavailable: 0 },
  { strategy: 'RollingUpdate', maxSurge: 0, maxUnavailable: 1 },
  { strategy: 'RollingUpdate', maxSurge: 2, maxUnavailable: 1 },
  { strategy: 'RollingUpdate', maxSurge: '50%', maxUnavailable: '25%' },
  { strategy: 'RollingUpdate', maxSurge: '100%', maxUnavailable: 0 },
];

const provisioned = (workers: number): GrowthWorld => {
  const world = new GrowthWorld();
  world.create(1, workers);
  world.run();
  expect(world.trouble()).toBeUndefined();
  return world;
};

/** A pool never has more machines than allowed, and never fewer nodes that serve. */
const guard = (world: GrowthWorld, rollout: PoolRollout): void => {
  const { declared } = world.pool();
  const { surge, unavailable } = rolloutLimits(rollout, declared?.replicas ?? 0);
  world.noticed = ({ type, meta }: StoredEvent) => {
    const pool = world.pool();
    const replicas = pool.declared?.replicas ?? 0;
    const serving = pool.machines.filter(({ serves }) => serves).length;
    const at = `${type} (${meta.seq})`;
    expect([at, pool.machines.length <= replicas + surge]).toEqual([at, true]);
    expect([at, serving >= replicas - unavailable]).toEqual([at, true]);
  };
};

const planned = (world: GrowthWorld): number =>
  world.types().filter((type) => type === 'NodeReplacementPlanned').length;

const outdated = (world: GrowthWorld): readonly string[] => {
  const { declared, machines } = world.pool();
  return machines.filter(({ spec }) => spec !== declared?.machineType).map(({ name }) => name);
};

const settle = (world: GrowthWorld): void => {
  world.heal();
  world.run();
  for (let tries = 0; tries < RETRIES_MAX && world.trouble() !== undefined; tries += 1) {
    world.command('retry');
    world.run();
  }
};

const change = (world: GrowthWorld, random: () => number): void => {
  const pick = <Of>(from: readonly Of[]): Of => from[Math.floor(random() * from.length)]!;
  const chance = random();
  if (chance < 0.35) world.declare({ machineType: pick(TYPES) });
  else if (chance < 0.6) world.fail(pick(FAILURES));
  else if (chance < 0.75) world.heal();
  else if (chance < 0.9) world.command('retry');
  else world.redeliver();
};

describe('the nodes of a pool whose machine template changes', () => {
  it('are replaced, whatever fails and however often minds change: converges, within its limits, and without oscillation', () => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
      const random = seededRandom(seed);
      const world = provisioned(1 + Math.floor(random() * 4));
      const rollout = ROLLOUTS[Math.floor(random() * ROLLOUTS.length)]!;
      const replicas = world.pool().declared?.replicas;
      expect(world.declare({ rollout })).toBe(true);
      guard(world, rollout);
      try {
        expect(world.declare({ machineType: 'lab.large' })).toBe(true);
        for (let changes = 0; changes < CHANGES_MAX; changes += 1) {
          world.run(1 + Math.floor(random() * 25));
          change(world, random);
        }
        settle(world);
        const before = planned(world);
        expect([world.trouble(), outdated(world)]).toEqual([undefined, []]);
        expect(world.pool().machines).toHaveLength(replicas ?? 0);
        world.run();
        expect(planned(world)).toBe(before);
        // The same once more replaces each node once.
        expect(world.declare({ machineType: 'lab.small' })).toBe(true);
        world.run();
        expect([outdated(world), planned(world) - before]).toEqual([[], replicas]);
      } catch (error) {
        throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
    }
  }, 180_000);

  it('stop at the first failure with its cause, serve meanwhile, and go on with a retry', () => {
    const world = provisioned(3);
    world.fail('create');
    world.declare({ machineType: 'lab.large' });
    world.run();
    const failed = world.events.filter((event) => event.type === 'PoolRolloutFailed');
    expect(failed.map(({ data }) => data)).toMatchObject([
      { pool: 'worker-1', cause: { operation: 'create machines' } },
    ]);
    expect([planned(world), outdated(world).length]).toEqual([1, 3]);
    settle(world);
    expect([world.trouble(), outdated(world), planned(world)]).toEqual([undefined, [], 4]);
  });

  it('stay with OnDelete until someone replaces them', () => {
    const world = provisioned(2);
    const onDelete = { strategy: 'OnDelete', maxSurge: 1, maxUnavailable: 0 } as const;
    world.declare({ machineType: 'lab.large', rollout: onDelete });
    world.run();
    expect([planned(world), outdated(world).length]).toEqual([0, 2]);
    const [first] = outdated(world);
    world.replace(first ?? '', 'create-first');
    world.run();
    expect([world.trouble(), outdated(world).length, outdated(world)]).toEqual([
      undefined,
      1,
      [expect.not.stringMatching(first!)],
    ]);
  });

  it('are left out while they are held out of changes, which is reported', () => {
    const world = provisioned(3);
    const [held] = world.pool().machines;
    world.hold(held!.name, true);
    world.declare({ machineType: 'lab.large' });
    world.run();
    expect([world.trouble(), outdated(world)]).toEqual([undefined, [held!.name]]);
    const completed = world.events.filter((event) => event.type === 'PoolRolloutCompleted');
    expect(completed.map(({ data }) => data)).toMatchObject([
      { heldBack: [{ node: held!.name, reason: 'a database' }] },
    ]);
  });

  it('are replaced by what was declared last, also when that is what they were made like', () => {
    const world = provisioned(3);
    const before = world.pool().declared!.machineType;
    world.declare({ machineType: 'lab.large' });
    world.run(4);
    expect(planned(world)).toBe(1);
    expect(world.declare({ machineType: before })).toBe(true);
    world.run();
    expect([world.trouble(), outdated(world)]).toEqual([undefined, []]);
    // The new node of the replacement that was under way is replaced in turn.
    expect(planned(world)).toBe(2);
  });

  it('hold up upgrades and other changes of nodes, and can be given up', () => {
    const world = provisioned(3);
    world.declare({ machineType: 'lab.large' });
    world.run(6);
    expect(world.declare({ replicas: 5 })).toBe(false);
    world.command('abandon');
    world.run();
    expect(world.trouble()).toBeUndefined();
    expect(outdated(world).length).toBeGreaterThan(0);
    expect(rolloutOf(world.pool().declared!).strategy).toBe('RollingUpdate');
  });
});
