import type { ClusterUid, EventType, NodeName, StoredEvent } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { readSettings as readGatewaySettings } from '../apps/gateway/src/config.js';
import { gatewayService } from '../apps/gateway/src/service.js';
import { readSettings as readInfraSettings } from '../apps/infra-svc/src/config.js';
import { infraService } from '../apps/infra-svc/src/service.js';
import { SOFTWARE } from '../apps/bootstrap-svc/src/bootstrap/bootstrap.fixtures.js';
import { bootstrapReconciler } from '../apps/bootstrap-svc/src/bootstrap/bootstrap.reconciler.js';
import { executionsReconciler } from '../apps/bootstrap-svc/src/executions/executions.reconciler.js';
import { kubeconfigsReconciler } from '../apps/bootstrap-svc/src/kubeconfigs/kubeconfigs.reconciler.js';
import { readSettings } from '../apps/upgrade-svc/src/config.js';
import { upgradeService } from '../apps/upgrade-svc/src/service.js';
import { WrittenRows } from './growth/written.rows.js';
import { initialControlPlane, provisioned, provisionedOutside, STATES, worker } from './growth/growth.states.js';
import { FAILURES, type Failure } from './growth/growth.parts.js';
import { GrowthWorld } from './growth/growth.world.js';

type Way = Parameters<GrowthWorld['command']>[0];

/** Documented commands, in the order in which a person would try them. Deleting the cluster is the last resort. */
const WAYS: readonly (readonly Way[])[] = [
  [],
  ['retry'],
  ['release'],
  ['abort-upgrade'],
  ['remove-failed'],
  ['abandon'],
  ['release', 'retry'],
  ['release', 'abort-upgrade'],
  ['release', 'abandon'],
  ['retry', 'abort-upgrade'],
];
const LAST_RESORTS: readonly (readonly Way[])[] = [['delete'], ['release', 'delete'], ['delete', 'retry']];

/** How far the request had progressed when the failures begin: before the first task, after each, and late. */
const MOMENTS = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 26, 30];

const failing = (state: string, failure: Failure, moment: number): GrowthWorld => {
  const world = STATES[state]!();
  if (moment > 0) world.run(moment);
  world.fail(failure);
  world.run();
  return world;
};

interface Exit {
  readonly way: readonly Way[];
  readonly healed: boolean;
}

const leadsOut = (world: () => GrowthWorld, { way, healed }: Exit): boolean => {
  const tried = world();
  if (healed) tried.heal();
  for (const command of way) {
    tried.command(command);
    tried.run();
  }
  if (way.length === 0) tried.run();
  return tried.trouble() === undefined;
};

const exitOf = (world: () => GrowthWorld): Exit | undefined => {
  const all = [
    ...WAYS.map((way) => ({ way, healed: false })),
    ...WAYS.map((way) => ({ way, healed: true })),
    ...LAST_RESORTS.map((way) => ({ way, healed: false })),
    ...LAST_RESORTS.map((way) => ({ way, healed: true })),
  ];
  return all.find((exit) => leadsOut(world, exit));
};

const countOf = (world: GrowthWorld, type: EventType, node: string): number =>
  world.events.filter(
    ({ type: found, data }) =>
      found === type && (('node' in data && data.node === node) || ('name' in data && data.name === node)),
  ).length;

const pairs = Object.keys(STATES).flatMap((state) => FAILURES.map((failure) => [state, failure] as const));

describe('permanent failures at any moment can be resolved by documented commands', () => {
  it.each(pairs)('while %s: %s', (state, failure) => {
    for (const moment of MOMENTS) {
      const failed = failing(state, failure, moment);
      const world = (): GrowthWorld => failed.copy();
      const exit = exitOf(world);
      const trouble = `${world().trouble() ?? ''}: ${world().types().slice(-12).join(' ')}`;
      expect([moment, exit === undefined ? trouble : 'out']).toEqual([moment, 'out']);
      // No failure may cost a cluster that is already serving.
      const isLastResort = exit?.way.includes('delete') === true && state !== 'deleting the cluster';
      expect([moment, exit?.way, isLastResort]).toEqual([moment, exit?.way, false]);
      if (state === 'creating' || state === 'deleting the cluster') continue;
      expect([moment, world().types().includes('ClusterFailed')]).toEqual([moment, false]);
    }
  });

  it.each([
    ['create', 'VmsFailed'],
    ['join', 'NodesFailed'],
    ['unreachable', 'NodesFailed'],
  ] as const)('a request whose machines are rolled back needs no command: %s', (failure, reported) => {
    const world = failing('adding and joining nodes (rollback)', failure, 0);
    expect(world.types()).toContain(reported);
    expect(world.trouble()).toBeUndefined();
  });

  it('a worker is replaced by one with a new name, create-first or remove-first', () => {
    for (const order of ['create-first', 'remove-first'] as const) {
      const world = provisioned();
      const [before, old] = [world.members(), worker(world)];
      world.replace(old, order);
      world.run();
      expect(world.trouble()).toBeUndefined();
      const came = world.members().filter((name) => !before.includes(name));
      expect([came.length, world.members()]).toEqual([1, [...before.filter((name) => name !== old), ...came]]);
      const steps = world.types().filter((type) => type === 'WorkerJoined' || type === 'NodeDrained');
      const expected = ['WorkerJoined', 'NodeDrained'];
      expect(steps.slice(-2)).toEqual(order === 'create-first' ? expected : expected.toReversed());
    }
  });

  it('the initial control plane is replaced, create-first or remove-first; another one takes its role, and the request is completed once [ORBITER 21]', () => {
    for (const order of ['create-first', 'remove-first'] as const) {
      const world = provisioned();
      const [before, old] = [world.members(), initialControlPlane(world)];
      world.replace(old, order);
      for (let turns = 0; turns < 12; turns += 1) {
        world.run(5);
        world.redeliver();
      }
      world.run();
      expect(countOf(world, 'NodeReplacementReady', old)).toBe(1);
      expect([countOf(world, 'NodeRemoved', old), countOf(world, 'VmDeleted', old)]).toEqual([1, 1]);
      expect([order, world.refused, world.trouble()]).toEqual([order, undefined, undefined]);
      const came = world.members().filter((name) => !before.includes(name));
      expect([came.length, world.members()]).toEqual([1, [...before.filter((name) => name !== old), ...came]]);
      const steps = world.types().filter((type) => type === 'ControlPlaneJoined' || type === 'NodeRemoved');
      const expected = ['ControlPlaneJoined', 'NodeRemoved'];
      expect(steps.slice(-2)).toEqual(order === 'create-first' ? expected : expected.toReversed());
      expect(world.types()).toContain('InitialControlPlaneChanged');
    }
  });

  it('a control plane with an external etcd is replaced: its member votes before it joins, and leaves with the old one', () => {
    for (const order of ['create-first', 'remove-first'] as const) {
      const world = provisionedOutside();
      const [before, old] = [world.members(), initialControlPlane(world)];
      world.replace(old, order);
      world.run();
      expect([order, world.refused, world.trouble()]).toEqual([order, undefined, undefined]);
      const came = world.members().filter((name) => !before.includes(name));
      expect([came.length, world.etcd.has(old), world.etcd.has(came[0] ?? '')]).toEqual([1, false, true]);
      const kinds = ['EtcdMemberAdded', 'ControlPlaneJoined', 'NodeRemoved'];
      const steps = world.types().filter((type) => kinds.includes(type));
      const joined = ['EtcdMemberAdded', 'ControlPlaneJoined'];
      expect(steps.slice(-3)).toEqual(
        order === 'create-first' ? [...joined, 'NodeRemoved'] : ['NodeRemoved', ...joined],
      );
    }
  });

  it.each(['create', 'join', 'unreachable'] as const)(
    'a new node that fails (%s) leaves the old node in place',
    (failure) => {
      const world = provisioned();
      const before = world.members();
      world.fail(failure);
      world.replace(worker(world), 'create-first');
      world.run();
      expect([world.trouble(), world.members()]).toEqual([undefined, before]);
    },
  );

  it('a node that was removed first gets its successor by a retry; if abandoned, its pool shrinks', () => {
    const failed = (): GrowthWorld => failing('replacing a worker, remove-first', 'create', 0);
    const size = provisioned().members().length;
    expect(failed().trouble()).toBe('a request for nodes is not done');
    const retried = failed();
    retried.heal();
    retried.command('retry');
    retried.run();
    expect([retried.trouble(), retried.members().length]).toEqual([undefined, size]);
    const abandoned = failed();
    abandoned.command('abandon');
    abandoned.run();
    expect([abandoned.trouble(), abandoned.members().length]).toEqual([undefined, size - 1]);
  });

  it('a worker that cannot join during the creation can be removed, and the cluster is Provisioned', () => {
    const world = failing('creating', 'join', 17);
    expect(world.trouble()).toBe('it is Failed');
    expect(leadsOut(() => failing('creating', 'join', 17), { way: ['remove-failed'], healed: false })).toBe(true);
  });

  it('a deletion that the provider refuses can be retried after other nodes have joined', () => {
    const world = (): GrowthWorld => {
      const stuck = failing('draining, removing and deleting a worker', 'delete', 0);
      stuck.add('rollback');
      stuck.run();
      return stuck;
    };
    expect(world().types().slice(-30)).toContain('ClusterReady');
    expect(leadsOut(world, { way: ['retry'], healed: true })).toBe(true);
  });

  it('a deletion that the provider refuses is recorded repeatedly, with backoff', () => {
    const world = failing('draining, removing and deleting a worker', 'delete', 0);
    const next = world.events.flatMap((event) =>
      event.type === 'VmDeletionFailed' ? [Date.parse(event.data.nextAttemptAt) - Date.parse(event.meta.time)] : [],
    );
    expect(next.length).toBeGreaterThan(3);
    expect(next).toEqual(next.toSorted((one, other) => one - other));
    expect(next.slice(0, 3)).toEqual([...new Set(next.slice(0, 3))]);
  });
});

describe('the rows that services write when a cluster is scaled', () => {
  const services = [
    gatewayService(readGatewaySettings({})),
    infraService(readInfraSettings({})),
    {
      name: 'bootstrap-svc',
      projections: [],
      reconcilers: [bootstrapReconciler(), kubeconfigsReconciler, executionsReconciler],
    },
    upgradeService(readSettings({})),
  ];

  /** As upgrade-svc does when the cluster is Ready. */
  const withdrawn = ({ meta, data }: StoredEvent, node: string): StoredEvent =>
    stored(
      {
        type: 'DesiredVersionsSet',
        data: {
          uid: (data as { uid: ClusterUid }).uid,
          node: node as NodeName,
          revision: 2,
          software: SOFTWARE,
          changesAllowed: false,
        },
      },
      meta.seq,
    );

  /** Bytes written by each projection and process for two more workers, by name. */
  const writtenAt = (workers: number): ReadonlyMap<string, number> => {
    const world = new GrowthWorld();
    world.create(1, workers);
    world.run();
    const rows = new WrittenRows(services);
    const written = new Map<string, number>();
    const read = (events: readonly StoredEvent[]): void =>
      events.forEach((event) =>
        rows.write(event).forEach((bytes, name) => written.set(name, (written.get(name) ?? 0) + bytes)),
      );
    const ready = world.events.at(-1)!;
    read([...world.events, ...world.members().map((node) => withdrawn(ready, node))]);
    written.clear();
    const before = world.events.length;
    world.add('rollback');
    world.run();
    expect([world.trouble(), world.members().length]).toEqual([undefined, workers + 3]);
    read(world.events.slice(before));
    return written;
  };

  /** Lists each node of the cluster, in about 30 bytes. */
  const MANIFESTS = 'gateway manifests';
  /** Lists each machine that runs, in about 30 bytes. */
  const MACHINE_HOURS = 'gateway machine-hours';

  it('have about the same size in a cluster of 200 nodes as in one of 50', () => {
    const [small, large] = [writtenAt(50), writtenAt(200)];
    const sum = (written: ReadonlyMap<string, number>): number =>
      [...written.values()].reduce((one, other) => one + other);
    const grown = [...large].filter(([name, bytes]) => bytes > 1.1 * (small.get(name) ?? 0));
    expect(grown.map(([name]) => name)).toEqual([MANIFESTS, MACHINE_HOURS]);
    expect(sum(large)).toBeLessThan(1.2 * sum(small));
    expect(sum(small)).toBeGreaterThan(20_000);
  });
});
