import {
  CONTROL_PLANE_POOL,
  controlPlaneSurge,
  rolloutLimits,
  rolloutOf,
  type ControlPlaneRollout,
  type Fact,
  type KubernetesVersion,
  type NodeName,
  type PoolRollout,
  type StoredEvent,
  type UpgradeId,
} from '@fairlead/contracts';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { chainOf, unexplained } from './growth/growth.causes.js';
import { USER, type Failure } from './growth/growth.parts.js';
import { GrowthWorld } from './growth/growth.world.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const FIRST = Number(process.env['SIM_SEED'] ?? 1);
/** Takes seconds on an idle machine; long enough for a loaded one. */
const LIMIT_MS = 600_000;
const CHANGES_MAX = 8;
const RETRIES_MAX = 12;
const TYPES = ['s', 'lab.medium', 'lab.large'];
const FAILURES: readonly Failure[] = ['create', 'join', 'unreachable', 'drain', 'delete'];

const ROLLOUTS: readonly PoolRollout[] = [
  { strategy: 'RollingUpdate', maxSurge: 1, maxUnavailable: 0, canary: true },
  { strategy: 'RollingUpdate', maxSurge: 0, maxUnavailable: 1, canary: true },
  { strategy: 'RollingUpdate', maxSurge: 2, maxUnavailable: 1, canary: false },
  { strategy: 'RollingUpdate', maxSurge: '50%', maxUnavailable: '25%', canary: true },
  { strategy: 'RollingUpdate', maxSurge: '100%', maxUnavailable: 0, canary: true },
  { strategy: 'RollingUpdate', maxSurge: '100%', maxUnavailable: '50%', canary: false },
];

const provisioned = (workers: number): GrowthWorld => {
  const world = new GrowthWorld();
  world.create(1, workers);
  world.run();
  expect(world.trouble()).toBeUndefined();
  return world;
};

/** For every event: `expect` would dominate the run time. */
const holds = (what: string, is: boolean, { type, meta }: StoredEvent): void => {
  if (!is) throw new Error(`not any more after ${type} (${meta.seq}): ${what}`);
};

/** Nodes of the pool that match the declaration, and serve. */
const upToDate = (world: GrowthWorld): number => {
  const { declared, machines } = world.pool();
  return machines.filter(({ spec, serves }) => serves && spec === declared?.machineType).length;
};

/** Replacements in progress. */
const underWay = (world: GrowthWorld): number => Object.keys(world.declared.replaced ?? {}).length;

/** A pool never exceeds its maximum of machines, nor falls below its minimum of serving nodes; a canary is alone. */
const guard = (world: GrowthWorld, rollout: PoolRollout): void => {
  const { declared } = world.pool();
  const { surge, unavailable } = rolloutLimits(rollout, declared?.replicas ?? 0);
  world.noticed = (event) => {
    const pool = world.pool();
    if (event.type === 'NodeReplacementPlanned' && rollout.canary)
      holds('a canary is alone', underWay(world) === 1 || upToDate(world) > 0, event);
    const replicas = pool.declared?.replicas ?? 0;
    const serving = pool.machines.filter(({ serves }) => serves).length;
    holds('machines are as few as allowed', pool.machines.length <= replicas + surge, event);
    holds('enough nodes serve', serving >= replicas - unavailable, event);
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

const picker =
  (random: () => number) =>
  <Of>(from: readonly Of[]): Of =>
    from[Math.floor(random() * from.length)]!;

const change = (
  world: GrowthWorld,
  random: () => number,
  declare = (machineType: string): boolean => world.declare({ machineType }),
): void => {
  const pick = picker(random);
  const chance = random();
  if (chance < 0.35) declare(pick(TYPES));
  else if (chance < 0.6) world.fail(pick(FAILURES));
  else if (chance < 0.75) world.heal();
  else if (chance < 0.9) world.command('retry');
  else world.redeliver();
};

describe('the nodes of a pool whose machine template changes', () => {
  it(
    'are replaced, whatever fails and however often it changes: converges, within its limits, and without oscillation [Cluster API 25]',
    () => {
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
          // The same change once more replaces each node once.
          expect(world.declare({ machineType: 'lab.small' })).toBe(true);
          world.run();
          expect([outdated(world), planned(world) - before]).toEqual([[], replicas]);
        } catch (error) {
          throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
      }
    },
    LIMIT_MS,
  );

  it('stop at the first failure with its cause, serve meanwhile, and continue after a retry', () => {
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

  it.each([
    { canary: true, together: [1, 4] },
    { canary: false, together: [4, 4] },
  ])(
    'are replaced one at first, and within the limits once a new one serves, or all within the limits (canary: $canary)',
    ({ canary, together }) => {
      const world = provisioned(4);
      const rollout = { strategy: 'RollingUpdate', maxSurge: '100%', maxUnavailable: 0, canary } as const;
      expect(world.declare({ rollout })).toBe(true);
      let [before, most] = [0, 0];
      world.noticed = () => {
        most = Math.max(most, underWay(world));
        if (upToDate(world) === 0) before = Math.max(before, underWay(world));
      };
      world.declare({ machineType: 'lab.large' });
      world.run();
      expect([world.trouble(), outdated(world)]).toEqual([undefined, []]);
      expect(before).toBe(together[0]);
      expect(most).toBe(canary ? 3 : together[1]);
    },
  );

  it.each([
    { maxSurge: 1, maxUnavailable: 0 },
    { maxSurge: 0, maxUnavailable: 1 },
    { maxSurge: 2, maxUnavailable: 1 },
  ])(
    'are replaced only as fast as new ones are Ready for minReadySeconds ($maxSurge and $maxUnavailable) [Cluster API 10]',
    (limits) => {
      const minReadySeconds = 600;
      const world = provisioned(3);
      world.declare({ minReadySeconds, rollout: { strategy: 'RollingUpdate', canary: false, ...limits } });
      const atOnce = limits.maxSurge + limits.maxUnavailable;
      const readyAt = new Map<string, number>();
      const available: number[] = [];
      world.noticed = (event) => {
        const { time } = event.meta;
        if (event.type === 'NodeReady') readyAt.set(event.data.node, Date.parse(time));
        if (event.type === 'NodeReplacementReady')
          available.push(readyAt.get(event.data.newNode)! + minReadySeconds * 1_000);
        const settling = available.filter((at) => at > Date.parse(time)).length;
        if (event.type === 'NodeReplacementPlanned')
          holds('nodes that are not available yet count', settling + underWay(world) <= atOnce, event);
        if (event.type === 'PoolRolloutCompleted') holds('all are available at the end', settling === 0, event);
      };
      world.declare({ machineType: 'lab.large' });
      world.run();
      expect([world.trouble(), outdated(world), available.length]).toEqual([undefined, [], 3]);
      expect(world.types()).toContain('PoolRolloutCompleted');
    },
  );

  it('treat a new one that becomes NotReady in between like one that has just joined [Cluster API 10]', () => {
    const world = provisioned(2);
    world.declare({ minReadySeconds: 600 });
    world.declare({ machineType: 'lab.large' });
    for (let tasks = 0; !world.types().includes('VmDeleted') && tasks < 1_000; tasks += 1) world.run(1);
    const { newNode } = world.events.find(({ type }) => type === 'NodeReplacementReady')!.data as { newNode: NodeName };
    world.sleep(500_000);
    world.setReady(newNode, false);
    world.setReady(newNode, true);
    const againAt = Date.parse(world.now());
    world.run();
    const second = world.events.filter(({ type }) => type === 'NodeReplacementPlanned')[1];
    expect(Date.parse(second!.meta.time) - againAt).toBeGreaterThanOrEqual(600_000);
    expect([world.trouble(), outdated(world)]).toEqual([undefined, []]);
  });

  it('are left unchanged, except the canary, if that cannot be created', () => {
    const world = provisioned(4);
    world.fail('create');
    world.declare({
      machineType: 'lab.large',
      rollout: { strategy: 'RollingUpdate', maxSurge: '100%', maxUnavailable: 0, canary: true },
    });
    world.run();
    expect([planned(world), outdated(world).length]).toEqual([1, 4]);
    expect(world.types()).toContain('PoolRolloutFailed');
  });

  it('are replaced with the rollout as the cause, and with how the machine differs from what is declared [Cluster API 35]', () => {
    const world = provisioned(1);
    const [before] = world.pool().machines;
    world.declare({ machineType: 'lab.large' });
    world.run();
    const { requestId } = world.events.find(({ type }) => type === 'PoolRolloutRequested')!.data as never;
    const planned = world.events.flatMap((event) => (event.type === 'NodeReplacementPlanned' ? [event.data] : []));
    expect(planned).toMatchObject([
      { node: before!.name, pool: 'worker-1', rollout: requestId, reason: `machineType ${before!.spec}` },
    ]);
    const made = world.events.find(
      (event) => event.type === 'VmsPlanned' && event.data.requestId === planned[0]?.requestId,
    );
    expect(made?.data).toMatchObject({ machines: [{ pool: 'worker-1', spec: 'lab.large' }] });
    const causes = chainOf(world.events, made!);
    expect(causes.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['NodeReplacementPlanned', 'PoolRolloutRequested']),
    );
    expect(causes.at(-1)?.meta.actor).toBe(USER);
    expect(world.events.flatMap((event) => unexplained(world.events, event) ?? [])).toEqual([]);
  });

  it('are replaced when the last outdated machine is deleted, not when its node has left', () => {
    const world = provisioned(2);
    const before = world.pool().machines.map(({ name }) => name);
    const left: number[] = [];
    world.noticed = ({ type }) => {
      if (type !== 'NodeRemoved' && type !== 'PoolRolloutCompleted') return;
      left.push(before.filter((name) => world.provider.has(name)).length);
    };
    world.declare({ machineType: 'lab.large' });
    world.run();
    expect([world.trouble(), left]).toEqual([undefined, [2, 1, 0]]);
  });

  it('do not wait for a machine that its provider does not delete, which is retried', () => {
    const world = provisioned(1);
    world.fail('delete');
    world.declare({ machineType: 'lab.large' });
    world.run();
    expect(world.types()).toContain('PoolRolloutCompleted');
    expect(world.provider.size).toBe(3);
    settle(world);
    expect([world.trouble(), world.provider.size]).toEqual([undefined, 2]);
  });

  it('are kept with OnDelete until someone replaces them [Cluster API 25]', () => {
    const world = provisioned(2);
    const onDelete = { strategy: 'OnDelete', maxSurge: 1, maxUnavailable: 0, canary: true } as const;
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

  it('are kept if OnDelete is declared during their rollout, except the one being replaced [Cluster API 25]', () => {
    const world = provisioned(3);
    world.declare({ machineType: 'lab.large' });
    world.run(4);
    expect(planned(world)).toBe(1);
    expect(world.declare({ rollout: { strategy: 'OnDelete', maxSurge: 1, maxUnavailable: 0, canary: true } })).toBe(
      true,
    );
    world.run();
    expect([world.trouble(), planned(world), outdated(world).length]).toEqual([undefined, 1, 2]);
  });

  it('are skipped while they are excluded from changes, which is reported', () => {
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

  it('are replaced according to the last declaration, even if that equals their original settings', () => {
    const world = provisioned(3);
    const before = world.pool().declared!.machineType;
    world.declare({ machineType: 'lab.large' });
    world.run(4);
    expect(planned(world)).toBe(1);
    expect(world.declare({ machineType: before })).toBe(true);
    world.run();
    expect([world.trouble(), outdated(world)]).toEqual([undefined, []]);
    // The new node of the replacement in progress is replaced in turn.
    expect(planned(world)).toBe(2);
  });

  it('block upgrades and other changes of nodes, and can be abandoned', () => {
    const world = provisioned(3);
    world.declare({ machineType: 'lab.large' });
    world.run(6);
    expect(world.declare({ replicas: 5 })).toBe(false);
    world.command('abandon');
    world.run();
    expect(world.trouble()).toBeUndefined();
    expect(outdated(world).length).toBeGreaterThan(0);
    expect(rolloutOf(world.pool().declared!).strategy).toBe('InPlace');
  });
});

const made = new Map<number, GrowthWorld>();
const madeWith = (replicas: number): GrowthWorld => {
  const world = new GrowthWorld();
  world.create(replicas, 1);
  world.run();
  expect(world.trouble()).toBeUndefined();
  made.set(replicas, world);
  return world;
};

const withControlPlanes = (replicas: number, maxSurge: ControlPlaneRollout['maxSurge']): GrowthWorld => {
  const world = (made.get(replicas) ?? madeWith(replicas)).copy();
  expect(world.declareControlPlane({ rollout: { strategy: 'RollingUpdate', maxSurge } })).toBe(true);
  return world;
};

const outdatedControlPlanes = (world: GrowthWorld): readonly string[] => {
  const { declared, machines } = world.controlPlanes();
  return machines.filter(({ spec }) => spec !== declared.machineType).map(({ name }) => name);
};

/**
 * One control plane changes at a time, at most the allowed number is missing, and each change begins while all others
 * are Ready.
 */
const guardControlPlanes = (world: GrowthWorld): void => {
  const { declared } = world.controlPlanes();
  const { replicas } = declared;
  const surge = controlPlaneSurge(declared);
  world.noticed = (event) => {
    const { machines } = world.controlPlanes();
    const staying = machines.filter(({ name, leaves }) => world.etcd.has(name) && !leaves);
    holds('one changes at a time', machines.length - staying.length <= 1, event);
    holds('machines are as few as allowed', machines.length <= replicas + surge, event);
    holds('enough members of etcd stay', staying.length >= replicas + surge - 1, event);
    if (event.type !== 'NodeReplacementPlanned') return;
    const others = machines.filter(({ name }) => name !== event.data.node);
    holds(
      'all others are Ready',
      others.every(({ serves }) => serves),
      event,
    );
  };
};

/** NotReady nodes become Ready again. */
const recover = (world: GrowthWorld): void =>
  world
    .controlPlanes()
    .machines.filter(({ name, serves, leaves }) => world.kubernetes.has(name) && !serves && !leaves)
    .forEach(({ name }) => world.setReady(name, true));

const changeControlPlanes = (world: GrowthWorld, random: () => number): void => {
  const { machines } = world.controlPlanes();
  const chance = random();
  if (chance < 0.1) recover(world);
  else if (chance < 0.25) {
    const { name } = picker(random)(machines);
    if (world.kubernetes.has(name)) world.setReady(name, false);
  } else change(world, random, (machineType) => world.declareControlPlane({ machineType }));
};

describe('the control planes of a cluster whose machine template changes', () => {
  it(
    'are replaced one at a time, whatever fails: never fewer than declared with maxSurge 1, one fewer with 0 [Cluster API 21]',
    () => {
      for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
        const random = seededRandom(seed);
        const pick = picker(random);
        const replicas = pick([1, 3, 3, 5]);
        const world = withControlPlanes(replicas, replicas > 1 ? pick([0, 1]) : 1);
        guardControlPlanes(world);
        try {
          expect(world.declareControlPlane({ machineType: 'lab.large' })).toBe(true);
          for (let changes = 0; changes < CHANGES_MAX; changes += 1) {
            world.run(1 + Math.floor(random() * 40));
            changeControlPlanes(world, random);
          }
          recover(world);
          settle(world);
          const before = planned(world);
          expect([world.trouble(), outdatedControlPlanes(world)]).toEqual([undefined, []]);
          expect(world.controlPlanes().machines).toHaveLength(replicas);
          expect(world.declareControlPlane({ machineType: 'lab.small' })).toBe(true);
          world.run();
          expect([outdatedControlPlanes(world), planned(world) - before]).toEqual([[], replicas]);
        } catch (error) {
          throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
      }
    },
    LIMIT_MS,
  );

  it('alternate between 3 and 4 three times, the initial one last [Cluster API 21]', () => {
    const world = withControlPlanes(3, 1);
    const before = world.controlPlanes().machines.map(({ name }) => name);
    const sizes: number[] = [];
    world.noticed = ({ type }) => {
      if (type === 'ControlPlaneRemovalStarted' || type === 'NodeRemoved') sizes.push(world.etcd.size);
    };
    expect(world.declareControlPlane({ machineType: 'lab.large' })).toBe(true);
    world.run();
    expect([world.trouble(), outdatedControlPlanes(world)]).toEqual([undefined, []]);
    const went = world.events.flatMap((event) => (event.type === 'NodeReplacementPlanned' ? [event.data.node] : []));
    expect(went).toEqual([before[1], before[2], before[0]]);
    expect(sizes).toEqual([4, 3, 4, 3, 4, 3]);
  });

  it('are one fewer while each of them is replaced with maxSurge 0 [Cluster API 21]', () => {
    const world = withControlPlanes(3, 0);
    const sizes: number[] = [];
    world.noticed = ({ type }) => {
      if (type === 'NodeReplacementPlanned' || type === 'VmsPlanned') sizes.push(world.etcd.size);
    };
    expect(world.declareControlPlane({ machineType: 'lab.large' })).toBe(true);
    world.run();
    expect([world.trouble(), outdatedControlPlanes(world), sizes]).toEqual([undefined, [], [3, 2, 3, 2, 3, 2]]);
  });

  it('wait while another one is NotReady, and continue when it is Ready', () => {
    const world = withControlPlanes(3, 1);
    const [, second, third] = world.controlPlanes().machines.map(({ name }) => name);
    world.setReady(second!, false);
    world.setReady(third!, false);
    expect(world.declareControlPlane({ machineType: 'lab.large' })).toBe(true);
    world.run();
    expect(planned(world)).toBe(0);
    world.setReady(third!, true);
    world.run();
    expect([world.trouble(), outdatedControlPlanes(world), planned(world)]).toEqual([undefined, [], 3]);
    const [first] = world.events.flatMap((event) => (event.type === 'NodeReplacementPlanned' ? [event.data.node] : []));
    expect(first).toBe(second);
  });

  it.each([1, 0] as const)(
    'can be abandoned at any moment, and wait while the cluster is paused (maxSurge %i)',
    (maxSurge) => {
      for (let moment = 1; moment <= 40; moment += 3) {
        const world = withControlPlanes(3, maxSurge);
        expect(world.declareControlPlane({ machineType: 'lab.large' })).toBe(true);
        world.run(moment);
        world.command('pause');
        const before = world.effects.length;
        world.run();
        expect([moment, world.effects.length - before]).toEqual([moment, 0]);
        const resumed = world.copy();
        resumed.command('resume');
        resumed.run();
        expect([moment, resumed.trouble(), outdatedControlPlanes(resumed)]).toEqual([moment, undefined, []]);
        world.command('resume');
        world.command('abandon');
        world.run();
        const { declared, machines } = world.controlPlanes();
        expect([moment, world.trouble(), machines.length]).toEqual([moment, undefined, declared.replicas]);
        expect([moment, machines.length >= 2 + maxSurge]).toEqual([moment, true]);
      }
    },
  );

  it('are replaced during a scale-up from 1 to 3 once the new ones have joined', () => {
    const world = withControlPlanes(1, 1);
    expect(world.declareControlPlane({ replicas: 3, machineType: 'lab.large' })).toBe(true);
    world.run();
    const { machines } = world.controlPlanes();
    expect([world.trouble(), outdatedControlPlanes(world), planned(world), machines.length]).toEqual([
      undefined,
      [],
      1,
      3,
    ]);
  });
});

/** Some nodes of the first pool, at least one. */
const someOf = (world: GrowthWorld, random: () => number): readonly string[] => {
  const names = world.pool().machines.map(({ name }) => name);
  const some = names.filter(() => random() < 0.6);
  return some.length === 0 ? names.slice(0, 1) : some;
};

/** Names of the nodes whose replacement was planned, in order. */
const replacedIn = (world: GrowthWorld): readonly string[] =>
  world.events.flatMap((event) => (event.type === 'NodeReplacementPlanned' ? [event.data.node] : []));

describe('nodes selected for replacement', () => {
  it(
    'are all replaced by new ones, and no others, whatever fails: within the limits of their pool, the canary alone',
    () => {
      for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
        const random = seededRandom(seed);
        const pick = picker(random);
        const world = provisioned(2 + Math.floor(random() * 4));
        const rollout = pick(ROLLOUTS);
        expect(world.declare({ rollout: { ...rollout, strategy: pick(['RollingUpdate', 'OnDelete']) } })).toBe(true);
        const before = world.pool().machines.map(({ name }) => name);
        const asked = someOf(world, random);
        const { surge, unavailable } = rolloutLimits(rollout, before.length);
        let joined = 0;
        world.noticed = (event) => {
          const { machines } = world.pool();
          if (event.type === 'NodeReplacementReady') joined += 1;
          if (event.type === 'NodeReplacementPlanned' && rollout.canary)
            holds('a canary is alone', underWay(world) === 1 || joined > 0, event);
          holds('machines are as few as allowed', machines.length <= before.length + surge, event);
          const serving = machines.filter(({ serves }) => serves).length;
          holds('enough nodes serve', serving >= before.length - unavailable, event);
        };
        try {
          expect(world.replaceSelected({ nodes: [...asked] }, 'bad disks')).toBe(true);
          for (let changes = 0; changes < CHANGES_MAX; changes += 1) {
            world.run(1 + Math.floor(random() * 25));
            change(world, random, () => true);
          }
          settle(world);
          const names = world.pool().machines.map(({ name }) => name);
          const stay = before.filter((name) => !asked.includes(name));
          expect([world.trouble(), names.filter((name) => before.includes(name))]).toEqual([undefined, stay]);
          expect(names).toHaveLength(before.length);
          expect(new Set(replacedIn(world))).toEqual(new Set(asked));
        } catch (error) {
          throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
      }
    },
    LIMIT_MS,
  );

  it('may be control planes, one at a time and the initial one last, beside a pool of workers', () => {
    const world = withControlPlanes(3, 1);
    guardControlPlanes(world);
    const before = world.controlPlanes().machines.map(({ name }) => name);
    const [worker] = world.pool().machines;
    expect(world.replaceSelected({ all: true })).toBe(true);
    expect(world.types().filter((type) => type === 'PoolRolloutRequested')).toHaveLength(2);
    world.run();
    const replaced = replacedIn(world);
    expect([world.trouble(), replaced.filter((name) => name !== worker!.name)]).toEqual([
      undefined,
      [before[1], before[2], before[0]],
    ]);
    expect(replaced).toContain(worker!.name);
    const left = [...world.controlPlanes().machines, ...world.pool().machines].map(({ name }) => name);
    expect(left.filter((name) => before.includes(name) || name === worker!.name)).toEqual([]);
  });

  it('stop at the first failure, with the reason; other nodes wait, a retry continues, and abandon ends it', () => {
    const world = provisioned(3);
    const names = world.pool().machines.map(({ name }) => name);
    world.fail('create');
    expect(world.replaceSelected({ nodes: names.slice(0, 2) }, 'bad disks')).toBe(true);
    world.run();
    expect(world.types()).toContain('PoolRolloutFailed');
    expect(world.events.findLast(({ type }) => type === 'NodeReplacementPlanned')?.data).toMatchObject({
      node: names[0],
      reason: 'bad disks',
    });
    expect([world.replaceSelected({ nodes: names.slice(2) }), world.refused]).toEqual([false, 'pool.rollout-failed']);
    const given = world.copy();
    given.command('abandon');
    given.run();
    expect([given.trouble(), given.pool().machines.map(({ name }) => name)]).toEqual([undefined, names]);
    settle(world);
    expect([world.trouble(), world.pool().machines.filter(({ name }) => names.includes(name))]).toMatchObject([
      undefined,
      [{ name: names[2] }],
    ]);
  });

  it('are requested again if their pool is changed after a failure, so that none is forgotten', () => {
    const world = provisioned(3);
    const names = world.pool().machines.map(({ name }) => name);
    world.fail('create');
    world.replaceSelected({ nodes: names.slice(0, 2) });
    world.run();
    world.heal();
    const rollout = { strategy: 'OnDelete', maxSurge: 2, maxUnavailable: 0, canary: false } as const;
    expect(world.declare({ rollout })).toBe(true);
    world.run();
    expect([world.trouble(), world.pool().machines.filter(({ name }) => names.includes(name))]).toMatchObject([
      undefined,
      [{ name: names[2] }],
    ]);
  });

  it('block other changes of their pools, and nodes held meanwhile are left unchanged', () => {
    const world = provisioned(3);
    const names = world.pool().machines.map(({ name }) => name);
    expect(world.replaceSelected({ pools: ['worker-1'] })).toBe(true);
    world.run(6);
    expect(world.declare({ machineType: 'lab.large' })).toBe(false);
    expect([world.replaceSelected({ nodes: [names[2]!] }), world.refused]).toEqual([false, 'cluster.busy']);
    world.hold(names[2]!, true);
    world.run();
    expect([world.trouble(), world.pool().machines.filter(({ name }) => names.includes(name))]).toMatchObject([
      undefined,
      [{ name: names[2] }],
    ]);
    expect(world.events.findLast(({ type }) => type === 'PoolRolloutCompleted')?.data).toMatchObject({
      heldBack: [{ node: names[2], reason: 'a database' }],
    });
  });

  it('wait while the cluster is paused', () => {
    const world = provisioned(2);
    expect(world.replaceSelected({ pools: ['worker-1'] })).toBe(true);
    world.run(3);
    world.command('pause');
    const before = world.effects.length;
    world.run();
    expect(world.effects).toHaveLength(before);
    world.command('resume');
    world.run();
    expect([world.trouble(), new Set(replacedIn(world)).size]).toEqual([undefined, 2]);
  });
});

const VERSION = 'v1.35.4' as KubernetesVersion;
const UPGRADE_ID = 'u-8f3k2m9q' as UpgradeId;

/** What upgrade-svc states of nodes that get another version by new ones. */
const replaceFor = (world: GrowthWorld, pool: string, nodes: readonly string[], attempt = 1): void =>
  world.say({
    type: 'PoolReplacementRequested',
    data: {
      ...{ uid: world.declared.uid, upgradeId: UPGRADE_ID, operation: 'op-02', requestId: `u-${pool}-${attempt}` },
      ...{ pool, nodes: nodes as NodeName[], version: VERSION, software: {} },
    },
  });

const ofUpgrade = (world: GrowthWorld, type: 'RolloutPaused' | 'RolloutResumed' | 'UpgradeAbortRequested'): void =>
  world.say({
    type,
    data: { uid: world.declared.uid, upgradeId: UPGRADE_ID, by: 'user', reason: 'a sale' },
  } as unknown as Fact);

const endsOf = (world: GrowthWorld): readonly string[] =>
  world.types().filter((type) => type === 'PoolRolloutCompleted' || type === 'PoolRolloutFailed');

describe('nodes of a pool that get another version by new ones', () => {
  it(
    'are all replaced, whatever fails: within the limits, none twice, and a retry replaces what is left [Cluster API 25]',
    () => {
      for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
        const random = seededRandom(seed);
        const world = provisioned(2 + Math.floor(random() * 4));
        const rollout = { ...picker(random)(ROLLOUTS), strategy: 'Replace' as const };
        expect(world.declare({ rollout })).toBe(true);
        const before = world.pool().machines.map(({ name }) => name);
        const { surge, unavailable } = rolloutLimits(rollout, before.length);
        world.noticed = (event) => {
          const { machines } = world.pool();
          holds('machines are as few as allowed', machines.length <= before.length + surge, event);
          const serving = machines.filter(({ serves }) => serves).length;
          holds('enough nodes serve', serving >= before.length - unavailable, event);
        };
        const left = (): readonly string[] =>
          before.filter((name) => world.pool().machines.some((one) => one.name === name));
        try {
          replaceFor(world, 'worker-1', before);
          for (let changes = 0; changes < CHANGES_MAX; changes += 1) {
            world.run(1 + Math.floor(random() * 25));
            const chance = random();
            if (chance < 0.4) world.fail(picker(random)(FAILURES));
            else if (chance < 0.6) world.heal();
            else world.redeliver();
          }
          world.heal();
          world.run();
          for (let attempt = 2; attempt < RETRIES_MAX && left().length > 0; attempt += 1) {
            if (world.trouble() !== undefined) world.command('retry');
            replaceFor(world, 'worker-1', left(), attempt);
            world.run();
          }
          settle(world);
          expect([world.trouble(), left()]).toEqual([undefined, []]);
          expect(world.pool().machines).toHaveLength(before.length);
        } catch (error) {
          throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
      }
    },
    LIMIT_MS,
  );

  it('wait until new ones are Ready for minReadySeconds [Cluster API 10]', () => {
    const world = provisioned(3);
    world.declare({
      minReadySeconds: 600,
      rollout: { strategy: 'Replace', maxSurge: 1, maxUnavailable: 0, canary: true },
    });
    replaceFor(
      world,
      'worker-1',
      world.pool().machines.map(({ name }) => name),
    );
    world.run();
    const at = (type: StoredEvent['type']): readonly number[] =>
      world.events.flatMap((event) => (event.type === type ? [Date.parse(event.meta.time)] : []));
    const [planned, joined] = [at('NodeReplacementPlanned'), at('NodeReplacementReady')];
    expect([world.trouble(), planned.length, joined.length]).toEqual([undefined, 3, 3]);
    const waits = [...planned.slice(1), ...at('PoolRolloutCompleted')].map((time, after) => time - joined[after]!);
    for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(590_000);
  });

  it('may be control planes, 3 → 4 → 3 three times and the initial one last [Cluster API 21]', () => {
    const world = withControlPlanes(3, 1);
    guardControlPlanes(world);
    const before = world.controlPlanes().machines.map(({ name }) => name);
    const sizes: number[] = [];
    const guarded = world.noticed;
    world.noticed = (event) => {
      guarded(event);
      if (event.type === 'ControlPlaneRemovalStarted' || event.type === 'NodeRemoved') sizes.push(world.etcd.size);
    };
    replaceFor(world, CONTROL_PLANE_POOL, before);
    world.run();
    expect([world.trouble(), replacedIn(world)]).toEqual([undefined, [before[1], before[2], before[0]]]);
    expect(sizes).toEqual([4, 3, 4, 3, 4, 3]);
    expect(endsOf(world)).toEqual(['PoolRolloutCompleted']);
  });

  it('wait while their upgrade is paused, whenever that is, and continue with it', () => {
    for (let moment = 1; moment <= 40; moment += 3) {
      const world = provisioned(3);
      const before = world.pool().machines.map(({ name }) => name);
      replaceFor(world, 'worker-1', before);
      world.run(moment);
      ofUpgrade(world, 'RolloutPaused');
      const begun = replacedIn(world).length;
      world.run();
      // What has begun is completed.
      expect([moment, world.trouble(), replacedIn(world).length]).toEqual([moment, undefined, begun]);
      expect(world.pool().machines.filter(({ serves }) => serves)).toHaveLength(3);
      ofUpgrade(world, 'RolloutResumed');
      world.run();
      expect([moment, world.trouble(), replacedIn(world)]).toEqual([moment, undefined, before]);
    }
  });

  it('are left as they are after an abort, whenever that is, and replaced by a later request', () => {
    for (let moment = 1; moment <= 40; moment += 3) {
      const world = withControlPlanes(3, 1);
      guardControlPlanes(world);
      const before = world.controlPlanes().machines.map(({ name }) => name);
      replaceFor(world, CONTROL_PLANE_POOL, before);
      world.run(moment);
      ofUpgrade(world, 'UpgradeAbortRequested');
      const begun = replacedIn(world).length;
      world.run();
      const { machines } = world.controlPlanes();
      expect([moment, world.trouble(), replacedIn(world).length]).toEqual([moment, undefined, begun]);
      expect(machines.map(({ serves }) => serves)).toEqual([true, true, true]);
      const left = before.filter((name) => machines.some((one) => one.name === name));
      replaceFor(world, CONTROL_PLANE_POOL, left, 2);
      world.run();
      expect([moment, world.trouble(), new Set(replacedIn(world))]).toEqual([moment, undefined, new Set(before)]);
      expect(replacedIn(world)).toHaveLength(3);
    }
  });
});
