import { CONNECTIONS_STREAM, type ClusterUid, type Fact, type NodeName, type UpgradeId } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LATER_UID, nodeSet, registered, requested, UID } from '../../test/fixtures.js';
import { bootstrapStream, ownNamespaceStream, typesOf, requestStream } from '../../test/memory.service.js';
import { CALM, Simulation } from '../../test/simulation.js';
import { machineName } from './machines.planner.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 200);
const SEED_FIRST = Number(process.env['SIM_SEED'] ?? 1);
/** Seconds on an idle machine; this allows for a busy one. */
const LIMIT_MS = 600_000;
const seeds = Array.from({ length: SEEDS }, (_, index) => SEED_FIRST + index);

const NAMES = [
  ...[1, 2, 3].map((index) => machineName('demo', UID, 'control-plane', index)),
  ...[1, 2].map((index) => machineName('demo', UID, 'worker', index)),
];

const begin = async (simulation: Simulation): Promise<void> => {
  await simulation.say(ownNamespaceStream, {
    type: 'NamespaceCreated',
    data: { name: 'default' as never, description: '' },
  });
  await simulation.say(CONNECTIONS_STREAM, registered());
};

const dismantle = async (simulation: Simulation, uid: ClusterUid, between: () => Promise<void>): Promise<void> => {
  await simulation.say(requestStream, { type: 'ClusterDeletionRequested', data: { uid } });
  await between();
  await simulation.say(bootstrapStream, { type: 'ClusterDismantled', data: { uid } });
};

const rolloutStream = { namespace: 'default', cluster: 'demo', context: 'rollout' } as const;

/** The surge machines that were announced to the other services. */
const extraMachines = (simulation: Simulation): readonly NodeName[] =>
  simulation.log.events.flatMap((event) =>
    event.type === 'VmsCreated'
      ? event.data.machines.flatMap(({ name, surge }) => (surge === undefined ? [] : [name]))
      : [],
  );

const count = (types: readonly string[], type: Fact['type']): number => types.filter((other) => other === type).length;

const thingsMadeOnce = (simulation: Simulation): void => {
  const often = [...simulation.cloud.creations].filter(([, times]) => times !== 1);
  expect(often).toEqual([]);
};

/** Checks that every fact of a creation exists once, and follows from an earlier one. */
const expectMade = (types: readonly string[]): void => {
  for (const type of ['ClusterAccepted', 'VmsPlanned', 'VmsCreated', 'LoadBalancerReady'] as const) {
    expect([type, count(types, type)]).toEqual([type, 1]);
  }
  const order = ['ClusterAccepted', 'VmsPlanned', 'VmCreated', 'VmsCreated', 'LoadBalancerReady'];
  const places = order.map((type) => types.indexOf(type));
  expect(places).toEqual([...places].sort((first, second) => first - second));
  expect(types.lastIndexOf('VmCreated')).toBeLessThan(types.indexOf('VmsCreated'));
};

const expectGone = (simulation: Simulation, uid: ClusterUid, planned: number): void => {
  const types = typesOf(simulation.log, uid);
  expect(count(types, 'VmDeleted')).toBe(planned);
  expect(count(types, 'ClusterDeleted')).toBe(1);
  expect(types.at(-1)).toBe('ClusterDeleted');
  expect(simulation.cloud.machines.size).toBe(0);
  expect(simulation.cloud.balancers.size).toBe(0);
};

const ROUNDS = 6;

/** Machines in the log that are not recorded as deleted. */
const existing = ({ log }: Simulation): ReadonlySet<NodeName> => {
  const names = new Set<NodeName>();
  for (const event of log.events) {
    if (event.type === 'VmsPlanned') for (const { name } of event.data.machines) names.add(name);
    if (event.type === 'VmDeleted') names.delete(event.data.name);
  }
  return names;
};

const announcedIn = ({ log }: Simulation): ReadonlySet<NodeName> =>
  new Set(
    log.events.flatMap((event) => (event.type === 'VmsCreated' ? event.data.machines.map(({ name }) => name) : [])),
  );

/** Existing machines that no other service knows. */
const unannounced = (simulation: Simulation): readonly NodeName[] =>
  [...existing(simulation)].filter((name) => !announcedIn(simulation).has(name));

/**
 * States a random fact of another service about the machines of a cluster, or makes a provider fail to delete one for a
 * while.
 */
const requestSomething = async (simulation: Simulation, round: number): Promise<void> => {
  const surge = { uid: UID, upgradeId: 'u-8f3k2m9q' as UpgradeId, operation: 'op-07', pool: 'worker-1' };
  const workers = [...announcedIn(simulation)].filter((name) => name.includes('-w-') && existing(simulation).has(name));
  const node = workers[simulation.below(workers.length)];
  const requestId = `r${round}`;
  const onFailure = simulation.chance(0.5) ? 'keep' : 'rollback';
  switch (simulation.below(7)) {
    case 0:
      return simulation.say(requestStream, {
        type: 'NodesRequested',
        data: { uid: UID, requestId, workers: [nodeSet(1 + simulation.below(2))], onFailure },
      });
    case 1:
      return simulation.say(requestStream, {
        type: 'NodesAbandoned',
        data: { uid: UID, requestId: `r${round - 1}`, nodes: [] },
      });
    case 2:
      return simulation.say(rolloutStream, {
        type: 'SurgeRequested',
        data: { ...surge, count: 1 + simulation.below(2) },
      });
    case 3:
      return simulation.say(rolloutStream, { type: 'SurgeReleased', data: { ...surge, nodes: [] } });
    case 4:
      return simulation.say(requestStream, { type: 'ClusterRetryRequested', data: { uid: UID } });
    case 5:
      if (node === undefined) return undefined;
      return simulation.say(bootstrapStream, { type: 'NodeRemoved', data: { uid: UID, node } });
    default:
      if (node !== undefined) simulation.cloud.undeletable.add(node);
      return undefined;
  }
};

/** Reports a failing seed with its trace. */
const withTrace = async (seed: number, story: (simulation: Simulation) => Promise<void>): Promise<void> => {
  const simulation = new Simulation(seed);
  try {
    await story(simulation);
  } catch (error) {
    const events = simulation.log.events.map(({ type }) => type).join(' ');
    const steps = simulation.trace.slice(-60).join('\n  ');
    throw new Error(`seed ${seed}\n  ${steps}\n${events}`, { cause: error });
  }
};

const forAllSeeds = async (story: (simulation: Simulation) => Promise<void>): Promise<void> => {
  for (const seed of seeds) await withTrace(seed, story);
};

describe(`over ${SEEDS} seeds of lost calls, duplicate deliveries, disorder and crashes`, () => {
  it(
    'every machine is created once, and announced once',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        await simulation.run();
        thingsMadeOnce(simulation);
        const types = typesOf(simulation.log, UID);
        expectMade(types);
        expect(count(types, 'VmCreated')).toBe(5);
        expect([...simulation.cloud.machines.keys()].sort()).toEqual([...NAMES].sort());
      }),
    LIMIT_MS,
  );

  it(
    'two concurrent clusters share the resources of their connection, which are created and stated once [CB-Ladybug 9]',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        const second = { namespace: 'default', cluster: 'second', context: 'request' };
        await simulation.say(second, requested(clusterSpec({ name: 'second' as never }), LATER_UID));
        await simulation.run();
        thingsMadeOnce(simulation);
        const types = simulation.log.events.map(({ type }) => type);
        for (const type of [
          'NetworkEnsured',
          'FirewallEnsured',
          'SshKeyEnsured',
          'ImageEnsured',
          'SpecEnsured',
        ] as const)
          expect([type, count(types, type)]).toEqual([type, 1]);
        expectMade(typesOf(simulation.log, UID));
        expectMade(typesOf(simulation.log, LATER_UID));
      }),
    LIMIT_MS,
  );

  it(
    'a deletion at any time during a creation leaves nothing, and the name can be reused [CB-Ladybug 27]',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        await simulation.run(simulation.below(150));
        await dismantle(simulation, UID, () => simulation.run(simulation.below(20)));
        await simulation.run();
        const planned = count(typesOf(simulation.log, UID), 'VmsPlanned') * 5;
        expectGone(simulation, UID, planned);
        await simulation.say(requestStream, requested(clusterSpec(), LATER_UID));
        await simulation.run();
        expectMade(typesOf(simulation.log, LATER_UID));
        expect(simulation.cloud.machines.size).toBe(5);
      }),
    LIMIT_MS,
  );

  it(
    'a failed machine is created again by a retry, and no other is [CB-Ladybug 27]',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        const victim = NAMES[simulation.below(NAMES.length)]!;
        simulation.cloud.bootFailures.set(victim, 'no luck');
        await simulation.say(requestStream, requested());
        await simulation.run();
        expect(count(typesOf(simulation.log, UID), 'InfrastructureFailed')).toBe(1);
        simulation.cloud.bootFailures.clear();
        await simulation.say(requestStream, { type: 'ClusterRetryRequested', data: { uid: UID } });
        await simulation.run();
        expectMade(typesOf(simulation.log, UID));
        const machines = [...simulation.cloud.creations].filter(([thing]) => thing.startsWith('machine'));
        expect(machines.filter(([, times]) => times !== 1)).toEqual([[`machine ${victim}`, 2]]);
      }),
    LIMIT_MS,
  );

  it(
    'nodes that are added and removed in any order leave exactly the others',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        await simulation.run();
        const more = { uid: UID, workers: [nodeSet(1)] };
        const removed = NAMES[1 + simulation.below(NAMES.length - 1)]!;
        await simulation.say(requestStream, { type: 'NodesRequested', data: { ...more, requestId: 'r1' } });
        await simulation.run(simulation.below(40));
        await simulation.say(bootstrapStream, { type: 'NodeRemoved', data: { uid: UID, node: removed } });
        await simulation.say(requestStream, { type: 'NodesRequested', data: { ...more, requestId: 'r2' } });
        await simulation.run();
        thingsMadeOnce(simulation);
        const added = [3, 4].map((index) => machineName('demo', UID, 'worker', index));
        const left = [...NAMES.filter((name) => name !== removed), ...added];
        expect([...simulation.cloud.machines.keys()].sort()).toEqual([...left].sort());
        const announced = simulation.log.events.flatMap((event) =>
          event.type === 'VmsCreated' ? event.data.machines.map(({ name }) => name) : [],
        );
        expect([...announced].sort()).toEqual([...NAMES, ...added].sort());
        await dismantle(simulation, UID, async () => undefined);
        await simulation.run();
        expectGone(simulation, UID, 7);
      }),
    LIMIT_MS,
  );

  it(
    'an adopted machine moves once, whenever the process dies between its provider and the log, and no other is created',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        await simulation.run();
        const { sshKey, rootDisk } = [...simulation.cloud.machines.values()][0]!;
        const stray = { id: 'i-1', name: 'stray-w-1-zzzzz' as NodeName, group: 'default.stray.lab', uid: LATER_UID };
        const alike = { sshKey, rootDisk, spec: 'lab.medium', zone: 'lab-1b', labels: {} };
        simulation.cloud.machines.set(stray.name, { ...stray, ...alike });
        const workers = [nodeSet(1, { pool: 'worker-1' as never })];
        const request = { uid: UID, requestId: 'r1', workers, onFailure: 'keep', adopts: stray.id } as const;
        await simulation.say(requestStream, { type: 'NodesRequested', data: request });
        await simulation.run();
        const adopted = machineName('demo', UID, 'worker', 3);
        expect([...simulation.cloud.machines.keys()].sort()).toEqual([...NAMES, adopted].sort());
        expect(simulation.cloud.machines.get(adopted)?.id).toBe('i-1');
        expect(simulation.cloud.creations.get(`adoption ${adopted}`)).toBe(1);
        expect(announcedIn(simulation).has(adopted)).toBe(true);
        thingsMadeOnce(simulation);
        await dismantle(simulation, UID, async () => undefined);
        await simulation.run();
        expectGone(simulation, UID, 6);
      }),
    LIMIT_MS,
  );

  it(
    'surge machines that are requested and released at any time are created once, and gone at the end',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        await simulation.run();
        const surge = { uid: UID, upgradeId: 'u-8f3k2m9q' as UpgradeId, operation: 'op-07', pool: 'worker-1' };
        for (const round of [1, 2]) {
          await simulation.say(rolloutStream, { type: 'SurgeRequested', data: { ...surge, count: round } });
          await simulation.run(simulation.below(80));
          await simulation.say(rolloutStream, { type: 'SurgeReleased', data: { ...surge, nodes: [] } });
        }
        await simulation.run();
        const announced = extraMachines(simulation);
        for (const node of announced)
          await simulation.say(bootstrapStream, { type: 'NodeRemoved', data: { uid: UID, node } });
        await simulation.run();
        thingsMadeOnce(simulation);
        expect([...simulation.cloud.machines.keys()].sort()).toEqual([...NAMES].sort());
        const gone = simulation.log.events.flatMap((event) => (event.type === 'VmDeleted' ? [event.data.name] : []));
        expect(new Set(gone).size).toBe(gone.length);
        expect(count(typesOf(simulation.log, UID), 'InfrastructureFailed')).toBe(0);
      }),
    LIMIT_MS,
  );

  it(
    'a deletion of the cluster in the middle of a surge leaves nothing',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        await simulation.run();
        await simulation.say(rolloutStream, {
          type: 'SurgeRequested',
          data: { uid: UID, upgradeId: 'u-8f3k2m9q' as UpgradeId, operation: 'op-07', pool: 'worker-1', count: 2 },
        });
        await simulation.run(simulation.below(60));
        await dismantle(simulation, UID, () => simulation.run(simulation.below(20)));
        await simulation.run();
        expect(simulation.cloud.machines.size).toBe(0);
        expect(typesOf(simulation.log, UID).at(-1)).toBe('ClusterDeleted');
      }),
    LIMIT_MS,
  );

  it(
    'whatever is requested of a cluster, in any order, no machine is created twice, and none is left behind',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        for (let round = 0; round < ROUNDS; round += 1) {
          await simulation.run(simulation.below(60));
          await requestSomething(simulation, round);
        }
        simulation.cloud.undeletable.clear();
        await simulation.run();
        expect([...simulation.cloud.machines.keys()].sort()).toEqual([...existing(simulation)].sort());
        expect(unannounced(simulation)).toEqual([]);
        await dismantle(simulation, UID, () => simulation.run(simulation.below(20)));
        await simulation.run();
        expect(simulation.cloud.machines.size + simulation.cloud.balancers.size).toBe(0);
        expect(typesOf(simulation.log, UID).at(-1)).toBe('ClusterDeleted');
        thingsMadeOnce(simulation);
        const deleted = simulation.log.events.flatMap((event) => (event.type === 'VmDeleted' ? [event.data.name] : []));
        expect(new Set(deleted).size).toBe(deleted.length);
      }),
    LIMIT_MS,
  );

  it(
    'events in a calm run also occur in a rough one',
    async () => {
      const typesIn = async (seed: number, calm: boolean): Promise<readonly string[]> => {
        const simulation = new Simulation(seed);
        if (calm) simulation.troubles = CALM;
        await begin(simulation);
        await simulation.say(requestStream, requested());
        await simulation.run();
        await dismantle(simulation, UID, async () => undefined);
        await simulation.run();
        return typesOf(simulation.log, UID).filter((type) => type !== 'InfrastructureStepFailed');
      };
      const expected = await typesIn(1, true);
      for (const seed of seeds) expect(await typesIn(seed, false)).toEqual(expected);
    },
    LIMIT_MS,
  );
});
