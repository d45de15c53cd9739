import { declaredOf, type Fact, type Hook, type HookPoint, type StoredEvent } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { forSeeds } from '../../test/seeds.js';
import { CALM, Simulation } from '../../test/simulation.js';
import { answered } from '../../test/world.js';
import { balanced, created, machinesOf, requested, UID, w } from '../bootstrap/bootstrap.fixtures.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 200);
/** Takes seconds on a dedicated machine; longer on a shared one. */
const LIMIT_MS = 600_000;
const RETRIES_MAX = 60;

/** Each point with the event that it blocks or follows. */
const POINTS: readonly (readonly [HookPoint, StoredEvent['type']])[] = [
  ['BeforeCreate', 'HostReached'],
  ['BeforeControlPlaneInitialized', 'ControlPlaneInitialized'],
  ['AfterControlPlaneInitialized', 'ControlPlaneInitialized'],
  ['AfterCreate', 'ClusterReady'],
  ['BeforeNodeDrain', 'NodeDrained'],
  ['AfterNodeDrain', 'NodeDrained'],
  ['BeforeNodeDelete', 'NodeRemoved'],
  ['AfterNodeDelete', 'NodeRemoved'],
  ['BeforeClusterDelete', 'ClusterDismantled'],
];
const BEFORE = POINTS.filter(([point]) => point.startsWith('Before'));
const AFTER = POINTS.filter(([point]) => point.startsWith('After'));

const hookAt = (point: HookPoint, more: Partial<Hook> = {}): Hook => ({
  name: 'inventory',
  points: [point],
  url: 'https://hooks.example.com/fairlead',
  ...more,
});

const declare = (hooks: readonly Hook[], revision = 1): Fact => {
  const begun = requested(3, 2);
  if (begun.type !== 'ClusterRequested') throw new Error(begun.type);
  const spec = { ...declaredOf(begun.data.spec), ...(hooks.length === 0 ? {} : { hooks: [...hooks] }) };
  return { type: 'ClusterSpecChanged', data: { uid: UID, revision, spec } };
};

/** Until nothing is left to do, also as time passes. */
const untilSettled = async (simulation: Simulation): Promise<void> => {
  for (let before = -1; before < simulation.store.events.length;) {
    before = simulation.store.events.length;
    await simulation.run();
    simulation.fireTimers();
    await simulation.run();
  }
};

const retried = async (simulation: Simulation): Promise<void> => {
  await untilSettled(simulation);
  const isFailed = (): boolean =>
    simulation.types
      .filter((type) => ['ClusterFailed', 'ClusterRetryRequested', 'ClusterReady'].includes(type))
      .at(-1) === 'ClusterFailed';
  for (let retry = 0; isFailed() && retry < RETRIES_MAX; retry += 1) {
    await simulation.say('request', { type: 'ClusterRetryRequested', data: { uid: UID } });
    await untilSettled(simulation);
  }
};

/** Creates a cluster, removes a worker, and deletes the cluster. */
const life = async (simulation: Simulation, hooks: readonly Hook[]): Promise<void> => {
  await simulation.say('request', requested(3, 2), declare(hooks));
  await simulation.say('machines', created(machinesOf(3, 2)), balanced);
  await retried(simulation);
  await simulation.say('request', { type: 'NodeRemovalRequested', data: { uid: UID, node: w(1) } });
  await retried(simulation);
  await simulation.say('request', { type: 'ClusterDeletionRequested', data: { uid: UID } });
  await untilSettled(simulation);
  await simulation.say('machines', { type: 'InfrastructureDeleted', data: { uid: UID } });
  await untilSettled(simulation);
};

const firstOf = ({ store }: Simulation, type: StoredEvent['type']): number =>
  store.events.findIndex((event) => event.type === type);

const shown = ({ store }: Simulation): readonly string[] =>
  store.events.flatMap(({ type }) => (type.startsWith('Hook') && type !== 'HostReached' ? [type] : []));

describe('a hook before a step', () => {
  it.each(BEFORE)(
    'at %s blocks it until it succeeds: it requests more time twice [Cluster API 29]',
    async (point, step) => {
      const simulation = new Simulation(1, CALM);
      simulation.world.hookAnswer = (_moment, call) =>
        answered({ status: 'Success', message: 'a backup runs', ...(call > 2 ? {} : { retryAfterSeconds: 60 }) });
      await life(simulation, [hookAt(point)]);
      expect(shown(simulation)).toEqual(['HookBlocked', 'HookBlocked', 'HookSucceeded']);
      expect(simulation.count(step)).toBeGreaterThan(0);
      expect(firstOf(simulation, 'HookSucceeded')).toBeLessThan(firstOf(simulation, step));
      const [blocked] = simulation.store.events.filter(({ type }) => type === 'HookBlocked');
      expect(blocked?.data).toMatchObject({ point, hook: 'inventory', attempt: 1, message: 'a backup runs' });
      expect(simulation.count('ClusterDismantled')).toBe(1);
    },
  );

  it.each(BEFORE)(
    'at %s that does not answer is called again with the policy Fail [Cluster API 29]',
    async (point, step) => {
      const simulation = new Simulation(1, CALM);
      simulation.world.hookAnswer = (_moment, call) =>
        call > 2 ? answered({ status: 'Success' }) : { kind: 'silent', why: 'no answer within 10000 ms' };
      await life(simulation, [hookAt(point)]);
      expect(shown(simulation)).toEqual(['HookFailed', 'HookFailed', 'HookSucceeded']);
      expect(firstOf(simulation, 'HookSucceeded')).toBeLessThan(firstOf(simulation, step));
    },
  );

  it.each(BEFORE)(
    'at %s that does not answer is skipped with the policy Ignore [Cluster API 29]',
    async (point, step) => {
      const simulation = new Simulation(1, CALM);
      simulation.world.hookAnswer = () => ({ kind: 'silent', why: 'no answer within 10000 ms' });
      await life(simulation, [hookAt(point, { failurePolicy: 'Ignore' })]);
      expect(shown(simulation)).toEqual(['HookFailed']);
      expect(firstOf(simulation, 'HookFailed')).toBeLessThan(firstOf(simulation, step));
    },
  );

  it('at BeforeCreate is called once the cluster is accepted, and before it has machines [Cluster API 29]', async () => {
    const simulation = new Simulation(1, CALM);
    simulation.world.hookAnswer = (_moment, call) =>
      answered({ status: 'Success', ...(call > 2 ? {} : { retryAfterSeconds: 60 }) });
    await simulation.say('request', requested(3, 2), declare([hookAt('BeforeCreate')]));
    await untilSettled(simulation);
    expect(shown(simulation)).toEqual([]);
    await simulation.say('machines', { type: 'ClusterAccepted', data: { uid: UID } });
    await untilSettled(simulation);
    expect(shown(simulation)).toEqual(['HookBlocked', 'HookBlocked', 'HookSucceeded']);
    expect(simulation.count('VmsCreated')).toBe(0);
    await simulation.say('machines', created(machinesOf(3, 2)), balanced);
    await untilSettled(simulation);
    expect([simulation.count('ClusterReady'), simulation.count('HookSucceeded')]).toEqual([1, 1]);
  });

  it('has its message shown without control characters and unpaired surrogates, and of bounded length', async () => {
    const simulation = new Simulation(1, CALM);
    const hostile = `\u001b[2J\u202e\ud800${'x'.repeat(993)}\ud83d\ude00 and more`;
    simulation.world.hookAnswer = () => answered({ status: 'Success', message: hostile });
    await simulation.say('request', requested(3, 2), declare([hookAt('BeforeCreate')]));
    await simulation.say('machines', created(machinesOf(3, 2)), balanced);
    await untilSettled(simulation);
    const [succeeded] = simulation.store.events.filter(({ type }) => type === 'HookSucceeded');
    expect(succeeded?.data).toMatchObject({ message: ` [2J  ${'x'.repeat(993)} ` });
  });

  it('no longer blocks the step when it is skipped, and is called at its next point [Cluster API 29]', async () => {
    const simulation = new Simulation(1, CALM);
    simulation.world.hookAnswer = (moment) =>
      answered(moment.includes('BeforeCreate') ? { status: 'Failure', message: 'no' } : { status: 'Success' });
    const points: HookPoint[] = ['BeforeCreate', 'BeforeControlPlaneInitialized'];
    await simulation.say('request', requested(3, 2), declare([hookAt('BeforeCreate', { points })]));
    await simulation.say('machines', created(machinesOf(3, 2)), balanced);
    await simulation.run(300);
    expect([simulation.count('HookFailed') > 0, simulation.count('HostReached')]).toEqual([true, 0]);
    const skip = { uid: UID, hook: 'inventory', point: 'BeforeCreate', reason: 'it is down' } as const;
    await simulation.say('request', { type: 'HookSkipped', data: skip });
    await simulation.run();
    expect([simulation.count('ClusterReady'), simulation.count('HookSucceeded')]).toEqual([1, 1]);
  });

  it('no longer blocks the step when it is removed from the manifest', async () => {
    const simulation = new Simulation(1, CALM);
    simulation.world.hookAnswer = () => answered({ status: 'Failure', message: 'no' });
    await simulation.say('request', requested(3, 2), declare([hookAt('BeforeCreate')]));
    await simulation.say('machines', created(machinesOf(3, 2)), balanced);
    await simulation.run(300);
    expect([simulation.count('HookFailed') > 0, simulation.count('HostReached')]).toEqual([true, 0]);
    await simulation.say('request', declare([], 2));
    await simulation.run();
    expect(simulation.count('ClusterReady')).toBe(1);
  });
});

describe('a hook after a step', () => {
  it.each(AFTER)('at %s is called once the step is done, and blocks nothing [Cluster API 29]', async (point, step) => {
    const simulation = new Simulation(1, CALM);
    simulation.world.hookAnswer = () => answered({ status: 'Success', retryAfterSeconds: 60 });
    await life(simulation, [hookAt(point)]);
    expect(shown(simulation)).toEqual(['HookSucceeded']);
    expect(firstOf(simulation, step)).toBeLessThan(firstOf(simulation, 'HookSucceeded'));
  });

  it('that fails is called five times', async () => {
    const simulation = new Simulation(1, CALM);
    simulation.world.hookAnswer = () => ({ kind: 'answered', status: 500 });
    await simulation.say('request', requested(3, 2), declare([hookAt('AfterCreate')]));
    await simulation.say('machines', created(machinesOf(3, 2)), balanced);
    await untilSettled(simulation);
    expect(shown(simulation)).toEqual(Array.from({ length: 5 }, () => 'HookFailed'));
    expect(simulation.count('ClusterReady')).toBe(1);
  });
});

describe('a hook after the deletion of a cluster', () => {
  const ask = async (answer: Simulation['world']['hookAnswer'], more: Partial<Hook> = {}): Promise<Simulation> => {
    const simulation = new Simulation(1, CALM);
    simulation.world.hookAnswer = answer;
    await life(simulation, [hookAt('AfterClusterDelete', more)]);
    expect(firstOf(simulation, 'InfrastructureDeleted')).toBeLessThan(
      simulation.store.events.findIndex(({ type }) => type.startsWith('Hook') && type !== 'HostReached'),
    );
    return simulation;
  };

  it('is called once everything is deleted, until it lets the deletion complete [Cluster API 29]', async () => {
    const simulation = await ask((_moment, call) =>
      answered({ status: 'Success', ...(call > 2 ? {} : { retryAfterSeconds: 60 }) }),
    );
    expect(shown(simulation)).toEqual(['HookBlocked', 'HookBlocked', 'HookSucceeded']);
  });

  it('is retried without a limit if it fails, because no later call is possible [Cluster API 29]', async () => {
    const simulation = await ask((_moment, call) =>
      call > 7 ? answered({ status: 'Success' }) : { kind: 'answered', status: 500 },
    );
    expect(shown(simulation)).toEqual([...Array.from({ length: 7 }, () => 'HookFailed'), 'HookSucceeded']);
  });

  it('is skipped with the policy Ignore [Cluster API 29]', async () => {
    const simulation = await ask(() => ({ kind: 'answered', status: 500 }), { failurePolicy: 'Ignore' });
    expect(shown(simulation)).toEqual(['HookFailed']);
  });
});

describe(`over ${SEEDS} seeds of lost calls, duplicate deliveries, reordering and crashes`, () => {
  it(
    'every hook has succeeded before its step begins, and a repeated call has the same ID [Cluster API 29]',
    () =>
      forSeeds(SEEDS, async (simulation) => {
        const points = [...POINTS.map(([point]) => point), 'AfterClusterDelete'];
        const hook = { ...hookAt('BeforeCreate'), points } as Hook;
        simulation.world.hookAnswer = (_moment, call) =>
          answered({ status: 'Success', ...(call === 1 ? { retryAfterSeconds: 1 } : {}) });
        await life(simulation, [hook]);
        const { events } = simulation.store;
        const letGo = (point: HookPoint): number =>
          events.findIndex(({ type, data }) => type === 'HookSucceeded' && 'point' in data && data.point === point);
        for (const [point, step] of BEFORE) {
          const at = firstOf(simulation, step);
          if (at >= 0) expect([point, letGo(point) >= 0 && letGo(point) < at]).toEqual([point, true]);
        }
        expect(letGo('AfterClusterDelete')).toBeGreaterThan(firstOf(simulation, 'InfrastructureDeleted'));
        const recorded = events.filter(({ type }) => ['HookBlocked', 'HookSucceeded', 'HookFailed'].includes(type));
        const attempts = recorded.map(({ data }) =>
          'hook' in data && 'attempt' in data ? [data.point, data.node, data.hook, data.attempt].join('/') : '',
        );
        expect(new Set(attempts).size).toBe(attempts.length);
        expect(new Set(simulation.world.asked.map(({ id }) => id)).size).toBeLessThanOrEqual(attempts.length);
      }),
    LIMIT_MS,
  );
});
