import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import type { Failure } from './growth/growth.parts.js';
import { GrowthWorld } from './growth/growth.world.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 25);
const FIRST = Number(process.env['SIM_SEED'] ?? 1);
const CHANGES = 8;
/** Machines that cannot be created, nodes that cannot join, and services that read nothing for a while. */
const FAILURES: readonly Failure[] = ['create', 'join', 'quarantined-bootstrap', 'quarantined-machines'];

const begun = (): GrowthWorld => {
  const world = new GrowthWorld();
  world.create(1, 2);
  world.run();
  return world;
};

const sizesOf = ({ declared }: GrowthWorld): Readonly<Record<string, number>> =>
  Object.fromEntries(declared.spec.pools.map(({ name, replicas }) => [name, replicas]));

/** Number of nodes in Kubernetes of each declared pool. */
const nodesOf = (world: GrowthWorld): Readonly<Record<string, number>> =>
  Object.fromEntries(
    world.declared.spec.pools.map(({ name }) => [
      name,
      [...world.kubernetes].filter((node) => world.declared.nodes[node] === name).length,
    ]),
  );

describe('pools that are scaled in any order, whatever the state of the previous change', () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST + index))(
    'end as they were declared last, although requests failed, and then nothing changes (seed %i) [Cluster API 15]',
    (seed) => {
      const random = seededRandom(seed);
      const below = (limit: number): number => Math.floor(random() * limit);
      const world = begun();
      let wanted = sizesOf(world);
      for (let change = 0; change < CHANGES; change += 1) {
        const failure = random() < 0.4 ? FAILURES[below(FAILURES.length)] : undefined;
        if (failure !== undefined) world.fail(failure);
        const names = ['worker-1', 'b', 'c'].filter(() => random() < 0.8);
        const pools = names.map((name) => ({ name, replicas: below(5), labels: { round: String(below(3)) } }));
        expect(world.apply(pools)).toBe(true);
        wanted = Object.fromEntries(pools.map(({ name, replicas }) => [name, replicas]));
        world.run(below(25));
        world.heal();
        world.command('release');
      }
      world.run();
      expect([seed, world.trouble()]).toEqual([seed, undefined]);
      expect(nodesOf(world)).toEqual(sizesOf(world));
      expect(sizesOf(world)).toEqual(wanted);
      const { length } = world.events;
      world.run();
      expect(world.events).toHaveLength(length);
    },
  );

  it('remove nodes that have not joined before those that serve [Cluster API 15]', () => {
    const world = begun();
    const serving = [...world.kubernetes].sort();
    expect(world.apply([{ name: 'worker-1', replicas: 5 }])).toBe(true);
    world.run(4);
    expect(world.apply([{ name: 'worker-1', replicas: 2 }])).toBe(true);
    world.run();
    expect([...world.kubernetes].sort()).toEqual(serving);
    const drained = world.events.flatMap((event) => (event.type === 'NodeDrained' ? [event.data.node] : []));
    expect(drained.filter((node) => serving.includes(node))).toEqual([]);
  });

  it('can be scaled to 0 and back [Cluster API 15]', () => {
    const world = begun();
    for (const replicas of [0, 3]) {
      world.apply([{ name: 'worker-1', replicas }]);
      world.run();
      expect([world.trouble(), nodesOf(world)]).toEqual([undefined, { 'worker-1': replicas }]);
    }
  });

  it('label their nodes, including existing ones', () => {
    const world = begun();
    world.apply([{ name: 'worker-1', replicas: 3, labels: { tier: 'web' } }]);
    world.run();
    const labelled = world.events.flatMap((event) => (event.type === 'NodeLabelsSet' ? [event.data.labels] : []));
    expect(labelled).toEqual([{ tier: 'web' }, { tier: 'web' }, { tier: 'web' }]);
  });

  it('label each node for its own pool, once, despite repeated deliveries of tasks [Cluster API 3]', () => {
    const world = begun();
    const labels = { 'worker-1': { tier: 'web' }, b: { tier: 'db' } };
    world.apply([
      { name: 'worker-1', replicas: 2, labels: labels['worker-1'] },
      { name: 'b', replicas: 2, labels: labels.b },
    ]);
    for (let times = 0; times < 6; times += 1) {
      world.run(5);
      world.redeliver();
    }
    world.run();
    const { nodes } = world.declared;
    const set = world.events.flatMap((event) => (event.type === 'NodeLabelsSet' ? [event.data] : []));
    expect(set.map(({ node }) => node).toSorted()).toEqual(
      Object.keys(nodes)
        .filter((node) => nodes[node] !== 'control-plane')
        .toSorted(),
    );
    for (const { node, labels: given } of set) expect([node, given]).toEqual([node, labels[nodes[node] as 'b']]);
  });
});
