import type { ClusterView, Fact, PoolStatus, StoredEvent } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { membershipAfter, type ClusterMembership } from '../apps/gateway/src/lifecycle/membership.js';
import { manifestView } from '../apps/gateway/src/manifest/manifest.view.js';
import { nodesProjection, type NodeDoc } from '../apps/gateway/src/nodes/nodes.projection.js';
import { Course } from './growth/growth.course.js';
import { GrowthWorld } from './growth/growth.world.js';

/** For every `npm test`, which runs fewer seeds of other simulations. */
const SEEDS = Number(process.env['SIM_SEEDS_CONVERGENCE'] ?? process.env['SIM_SEEDS'] ?? 100);
const FIRST = Number(process.env['SIM_SEED'] ?? 1);
/** Takes seconds on an idle machine; long enough for a loaded one. */
const LIMIT_MS = 600_000;
const STEPS = 12;
const TASKS_MAX = 1_000;

/** The gateway's rows of a cluster, and the status of its pools after every event. */
class Gateway {
  private readonly nodes = new Map<string, NodeDoc>();
  private cluster: ClusterMembership | undefined;
  private now = '';
  /** Called with the status of each pool, after each event. */
  seen: (pool: PoolStatus, declared: number | undefined) => void = () => undefined;

  constructor(readonly world: GrowthWorld) {
    for (const event of world.events) this.read(event);
  }

  static ofTwoWorkers(): Gateway {
    const world = new GrowthWorld();
    world.create(1, 2);
    world.run();
    const gateway = new Gateway(world);
    world.noticed = (event) => gateway.read(event);
    return gateway;
  }

  read(event: StoredEvent): void {
    for (const key of nodesProjection.keys(event)) {
      const after = nodesProjection.evolve(this.nodes.get(key), event, key);
      if (after === undefined) this.nodes.delete(key);
      else this.nodes.set(key, after);
    }
    this.cluster = membershipAfter(this.cluster, event);
    this.now = event.meta.time;
    const declared = new Map(this.world.declared.spec.pools.map(({ name, replicas }) => [name, replicas]));
    for (const pool of this.pools()) this.seen(pool, declared.get(pool.name));
  }

  pools(): readonly PoolStatus[] {
    const cluster = { status: { phase: this.cluster?.phase ?? 'Pending' } } as ClusterView;
    const rows = { cluster, nodes: [...this.nodes.values()], now: this.now, isDeprecated: false };
    return manifestView(this.world.declared, rows).status?.pools ?? [];
  }

  /** An agent's report, sent only to the gateway. */
  hears(fact: Fact): void {
    const seq = this.world.events.length + 1;
    this.read(stored(fact, seq, { time: this.now }));
  }
}

const isConsistent = (pool: PoolStatus): boolean => {
  const { replicas, readyReplicas, availableReplicas, unavailableReplicas, updatedReplicas, providerIDs } = pool;
  return (
    0 <= availableReplicas &&
    availableReplicas <= readyReplicas &&
    readyReplicas <= replicas &&
    unavailableReplicas === replicas - availableReplicas &&
    updatedReplicas <= replicas &&
    providerIDs.length <= replicas &&
    new Set(providerIDs).size === providerIDs.length
  );
};

/** Checks one pool after one event. */
const expectWhole = (world: GrowthWorld, pool: PoolStatus, declared: number | undefined): void => {
  if (!isConsistent(pool)) throw new Error(`not consistent: ${JSON.stringify(pool)}`);
  const isWhole = pool.availableReplicas === declared && pool.replicas === declared;
  const leaves = world.machinesIn(pool.name).some((machine) => machine.leaves);
  if (pool.phase === 'Running' && !isWhole) throw new Error(`Running with ${JSON.stringify(pool)}`);
  if (isWhole && !leaves && !['Running', 'ScalingDown', 'Failed'].includes(pool.phase))
    throw new Error(`not Running with ${JSON.stringify(pool)}`);
};

const isAtRest = (gateway: Gateway): boolean => gateway.pools().every(({ phase }) => phase === 'Running');

/** Every pool is Running and as declared, and no task or timer is left. */
const expectAtRest = (gateway: Gateway): void => {
  const { pools } = gateway.world.declared.spec;
  for (const { name, replicas } of pools)
    expect(gateway.pools().find((pool) => pool.name === name)).toMatchObject({
      ...{ phase: 'Running', replicas, availableReplicas: replicas, updatedReplicas: replicas },
    });
  expect([gateway.world.trouble(), gateway.world.pending]).toEqual([undefined, 0]);
};

describe('the status of a pool', () => {
  it(
    `has consistent counters after every event, and is Running exactly while as many nodes are available as declared (${SEEDS} seeds) [Cluster API 9, Cluster API 11]`,
    () => {
      for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
        try {
          const course = new Course(seed, {});
          const gateway = new Gateway(course.world);
          gateway.seen = (pool, declared) => expectWhole(course.world, pool, declared);
          course.noticed = (event) => gateway.read(event);
          for (let step = 0; step < STEPS; step += 1) course.step();
          course.settle();
          expectAtRest(gateway);
          expect(course.apply()).toBe(true);
          // While a pool differs from its declaration, there are tasks or timers; otherwise there are none.
          for (let tasks = 0; tasks < TASKS_MAX && !isAtRest(gateway); tasks += 1) {
            if (course.world.pending === 0) throw new Error('nothing is done about a pool that is not as declared');
            course.world.run(1);
          }
          course.world.run();
          expectAtRest(gateway);
        } catch (error) {
          throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
      }
    },
    LIMIT_MS,
  );

  it('has no updated replicas after a change of its machines, and then increasingly more [Cluster API 13]', () => {
    const gateway = Gateway.ofTwoWorkers();
    const course: number[] = [];
    gateway.seen = ({ updatedReplicas }) => {
      if (course.at(-1) !== updatedReplicas) course.push(updatedReplicas);
    };
    gateway.world.declare({ machineType: 'lab.large' });
    gateway.world.run();
    expect(gateway.world.trouble()).toBeUndefined();
    // The requested rollout is recorded before its machines.
    expect(course).toEqual([2, 0, 1, 2]);
  });

  it('of a new pool goes from Pending to Provisioning, Provisioned, ScalingUp and Running, and applying it again records nothing [Cluster API 2, Cluster API 7]', () => {
    const gateway = Gateway.ofTwoWorkers();
    const { world } = gateway;
    const course: string[] = [];
    gateway.seen = ({ name, phase, providerIDs }) => {
      const step = `${phase} ${providerIDs.length}`;
      if (name === 'web' && course.at(-1) !== step) course.push(step);
    };
    const pools = [
      { name: 'worker-1', replicas: 2 },
      { name: 'web', replicas: 2 },
    ];
    expect(world.apply(pools)).toBe(true);
    const { length } = world.events;
    expect(world.apply(pools)).toBe(true);
    expect(world.events).toHaveLength(length);
    world.run();
    // Once its first node has joined it scales, like a MachinePool of Cluster API.
    const provisioned = ['Pending 0', 'Provisioning 0', 'Provisioning 1', 'Provisioned 2'];
    expect(course).toEqual([...provisioned, 'ScalingUp 2', 'Running 2']);
  });

  it('becomes Provisioning with the event that assigns machines to the pool, and not before [Cluster API 6]', () => {
    const gateway = Gateway.ofTwoWorkers();
    const { world } = gateway;
    const course: (readonly [StoredEvent, string | undefined])[] = [];
    world.noticed = (event) => {
      gateway.read(event);
      course.push([event, gateway.pools().find(({ name }) => name === 'web')?.phase]);
    };
    world.apply([
      { name: 'worker-1', replicas: 2 },
      { name: 'web', replicas: 2 },
    ]);
    world.run();
    const at = course.findIndex(([, phase]) => phase === 'Provisioning');
    expect(new Set(course.slice(0, at).flatMap(([, phase]) => phase ?? []))).toEqual(new Set(['Pending']));
    const [assigned] = course[at]!;
    expect([assigned.type, 'machines' in assigned.data && assigned.data.machines]).toMatchObject([
      'VmsPlanned',
      [{ pool: 'web' }, { pool: 'web' }],
    ]);
  });

  it('derives from the health of its nodes, which have no machine objects in Kubernetes [Cluster API 14]', () => {
    const gateway = Gateway.ofTwoWorkers();
    const [node] = Object.entries(gateway.world.declared.nodes).flatMap(([name, pool]) =>
      pool === 'worker-1' ? [name] : [],
    );
    const about = { uid: gateway.world.declared.uid, node };
    const counts = () =>
      gateway.pools().map(({ readyReplicas, availableReplicas }) => [readyReplicas, availableReplicas]);
    expect(counts()).toEqual([[2, 2]]);
    gateway.hears({ type: 'NodeLost', data: { ...about, lastSeen: '' } } as unknown as Fact);
    expect(counts()).toEqual([[1, 1]]);
    gateway.hears({ type: 'NodeRecovered', data: about } as unknown as Fact);
    expect(counts()).toEqual([[2, 2]]);
  });
});
