import type { ClusterView, Fact, PoolStatus, StoredEvent } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { presentAfter, type PresentCluster } from '../apps/gateway/src/lifecycle/present.js';
import { manifestView } from '../apps/gateway/src/manifest/manifest.view.js';
import { nodesProjection, type NodeDoc } from '../apps/gateway/src/nodes/nodes.projection.js';
import { GrowthWorld, type Failure } from './growth/growth.world.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 25);
const FIRST = Number(process.env['SIM_SEED'] ?? 1);
const CHANGES = 6;
const FAILURES: readonly Failure[] = ['create', 'join', 'drain', 'quarantined-bootstrap', 'quarantined-machines'];

/** The gateway's rows of a cluster, and the status of its pools after every event. */
class Gateway {
  readonly world = new GrowthWorld();
  private readonly nodes = new Map<string, NodeDoc>();
  private cluster: PresentCluster | undefined;
  private now = '';
  /** Is called with the status of each pool, after each event. */
  seen: (pool: PoolStatus, declared: number | undefined) => void = () => undefined;

  constructor() {
    this.world.noticed = (event) => this.read(event);
    this.world.create(1, 2);
    this.world.run();
  }

  read(event: StoredEvent): void {
    for (const key of nodesProjection.keys(event)) {
      const after = nodesProjection.evolve(this.nodes.get(key), event, key);
      if (after === undefined) this.nodes.delete(key);
      else this.nodes.set(key, after);
    }
    this.cluster = presentAfter(this.cluster, event);
    this.now = event.meta.time;
    const declared = new Map(this.world.declared.spec.pools.map(({ name, replicas }) => [name, replicas]));
    for (const pool of this.pools()) this.seen(pool, declared.get(pool.name));
  }

  pools(): readonly PoolStatus[] {
    const cluster = { status: { phase: this.cluster?.phase ?? 'Pending' } } as ClusterView;
    const rows = { cluster, nodes: [...this.nodes.values()], now: this.now };
    return manifestView(this.world.declared, rows).status?.pools ?? [];
  }

  /** What an agent reports, to the gateway alone. */
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

describe('the status of a pool', () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST + index))(
    'has consistent counters after every event, and is Running exactly while as many nodes are available as declared (seed %i) [Cluster API 9, Cluster API 11]',
    (seed) => {
      const random = seededRandom(seed);
      const below = (limit: number): number => Math.floor(random() * limit);
      const gateway = new Gateway();
      const { world } = gateway;
      let statuses = 0;
      gateway.seen = (pool, declared) => {
        statuses += 1;
        const whole = pool.availableReplicas === declared;
        if (!isConsistent(pool)) throw new Error(`seed ${seed}: ${JSON.stringify(pool)}`);
        if (pool.phase === 'Running' && !whole) throw new Error(`seed ${seed}: Running with ${JSON.stringify(pool)}`);
      };
      for (let change = 0; change < CHANGES; change += 1) {
        const failure = random() < 0.4 ? FAILURES[below(FAILURES.length)] : undefined;
        if (failure !== undefined) world.fail(failure);
        world.apply(
          ['worker-1', 'b']
            .filter(() => random() < 0.9)
            .map((name) => ({ name, replicas: below(5), labels: { round: String(below(3)) } })),
        );
        world.run(below(25));
        world.heal();
        world.command('release');
      }
      world.run();
      world.command('retry');
      world.run();
      expect([seed, statuses > 0, world.trouble()]).toEqual([seed, true, undefined]);
      for (const { name, replicas } of world.declared.spec.pools)
        expect([seed, gateway.pools().find((pool) => pool.name === name)]).toMatchObject([
          seed,
          { phase: 'Running', replicas, availableReplicas: replicas, updatedReplicas: replicas },
        ]);
    },
  );

  it('of a new pool goes from Pending to Provisioning, Provisioned, ScalingUp and Running, and applying it again records nothing [Cluster API 2, Cluster API 7]', () => {
    const gateway = new Gateway();
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
    // Once the first of its nodes has joined it grows, as a MachinePool of Cluster API does.
    const provisioned = ['Pending 0', 'Provisioning 0', 'Provisioning 1', 'Provisioned 2'];
    expect(course).toEqual([...provisioned, 'ScalingUp 2', 'Running 2']);
  });

  it('becomes Provisioning with the event that assigns machines to the pool, and not before [Cluster API 6]', () => {
    const gateway = new Gateway();
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

  it('follows from the health of its nodes, which have no machine objects in Kubernetes [Cluster API 14]', () => {
    const gateway = new Gateway();
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
