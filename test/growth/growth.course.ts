import { rolloutLimits, rolloutOf, type DeclaredPool, type PoolRollout, type StoredEvent } from '@fairlead/contracts';
import { majorityOf } from '@fairlead/domain';
import { seededRandom } from '@fairlead/testing';
import { expect } from '@jest/globals';
import { unexplained } from './growth.causes.js';
import type { Failure } from './growth.parts.js';
import { GrowthWorld } from './growth.world.js';

const RETRIES_MAX = 12;
const POOLS = ['worker-1', 'b'];
const TYPES = ['lab.medium', 'lab.large'];
const CONTROL_PLANES = [1, 3, 5];
const FAILURES: readonly Failure[] = [
  'create',
  'join',
  'unreachable',
  'drain',
  'delete',
  'quarantined-bootstrap',
  'quarantined-machines',
];
const rolling = (maxSurge: number, maxUnavailable: number, canary = true): PoolRollout => ({
  strategy: 'RollingUpdate',
  maxSurge,
  maxUnavailable,
  canary,
});
const ROLLOUTS = [rolling(1, 0), rolling(0, 1), rolling(2, 1), rolling(2, 0, false)];

/** Events that change the desired number of nodes in a pool. */
const DECLARING: ReadonlySet<string> = new Set(['ClusterSpecChanged', 'NodesAbandoned', 'VmsFailed', 'NodesFailed']);

/** How often each kind of step was taken: a simulation in which nothing happens proves nothing. */
export type Seen = Record<string, number>;

/**
 * A cluster whose owner changes the manifest repeatedly while machines, nodes, hosts and services fail, and the
 * invariants after each event.
 */
export class Course {
  readonly world = new GrowthWorld();
  /** Called with every event, after the invariants were checked. */
  noticed: (event: StoredEvent) => void = () => undefined;
  private readonly random: () => number;
  /** Nodes of each pool that have served since the last declaration, and that were not taken by a fault. */
  private served: Record<string, number> = {};
  private members = 0;
  private readonly joined = new Set<string>();
  private readonly drained = new Set<string>();
  /** Sizes of pools as they were declared last. */
  private wanted = new Map<string, number>();

  constructor(
    seed: number,
    private readonly seen: Seen,
  ) {
    this.random = seededRandom(seed);
    this.world.create(3, 2);
    this.world.run();
    for (const event of this.world.events) this.follow(event);
    this.world.noticed = (event) => {
      this.check(event);
      this.noticed(event);
    };
    this.declare();
    this.want();
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  pick<Of>(from: readonly Of[]): Of {
    return from[this.below(from.length)]!;
  }

  private count(step: string): void {
    this.seen[step] = (this.seen[step] ?? 0) + 1;
  }

  private holds(what: string, is: boolean, { type, meta }: StoredEvent): void {
    if (!is) throw new Error(`not any more after ${type} (${meta.seq}): ${what}`);
  }

  serving(pool: string): number {
    return this.world.machinesIn(pool).filter(({ serves }) => serves).length;
  }

  /** Without those that serve only until their replacements do. */
  private staying(pool: string): number {
    const replaced = new Set(Object.values(this.world.declared.replaced ?? {}).map(({ node }) => node));
    return this.world.machinesIn(pool).filter(({ name, serves }) => serves && !replaced.has(name)).length;
  }

  private want(): void {
    const { pools } = this.world.declared.spec;
    this.wanted = new Map(pools.map(({ name, replicas }) => [name, replicas]));
  }

  /** The sizes that were declared last are still declared, whatever has failed since. */
  expectAsWanted(): void {
    const isStated = this.world.events.some(({ type }) => type === 'VmsFailed' || type === 'NodesFailed');
    if (isStated) this.count('stated');
    expect(this.world.declared.spec.pools.map(({ name, replicas }) => [name, replicas])).toEqual([...this.wanted]);
  }

  /** The declaration counts from now on. */
  private declare(): void {
    const { pools } = this.world.declared.spec;
    this.served = Object.fromEntries(pools.map(({ name, replicas }) => [name, Math.min(replicas, this.serving(name))]));
  }

  private poolOf(node: string): string {
    return POOLS.find((name) => this.world.machinesIn(name).some((machine) => machine.name === node)) ?? '';
  }

  /** This many nodes of a pool no longer serve because of a fault, or of their owner. */
  private take(pool: string, count: number): void {
    this.served = { ...this.served, [pool]: Math.max(0, (this.served[pool] ?? 0) - count) };
  }

  /** At most the allowed number of nodes is missing, besides those taken by faults, and etcd keeps its quorum. */
  private check(event: StoredEvent): void {
    const { pools } = this.world.declared.spec;
    if (event.type === 'ClusterSpecChanged') this.want();
    if (DECLARING.has(event.type)) this.declare();
    // Its manifest is recorded afterwards, in the same decision.
    if (event.type === 'NodeRemovalRequested') this.take(this.poolOf(event.data.node), 1);
    for (const pool of pools) this.checkPool(pool, event);
    this.follow(event);
    const why = unexplained(this.world.events, event);
    this.holds(`the log explains it: ${why ?? ''}`, why === undefined, event);
    const { etcd, down } = this.world;
    const healthy = [...etcd].filter((name) => !down.has(name)).length;
    if (etcd.size < this.members)
      this.holds(`etcd has its quorum: ${healthy} of ${etcd.size}`, healthy >= majorityOf(etcd.size), event);
    this.members = etcd.size;
  }

  /** A joined node is drained before its machine is deleted. */
  private follow(event: StoredEvent): void {
    if (event.type === 'WorkerJoined' || event.type === 'ControlPlaneJoined') this.joined.add(event.data.node);
    if (event.type === 'NodeDrained') this.drained.add(event.data.node);
    if (event.type !== 'VmDeleted' || !this.joined.has(event.data.name)) return;
    this.holds('it was drained before its machine is deleted', this.drained.has(event.data.name), event);
  }

  private checkPool(pool: DeclaredPool, event: StoredEvent): void {
    const serving = this.serving(pool.name);
    const { unavailable } = rolloutLimits(rolloutOf(pool), pool.replicas);
    const served = Math.min(pool.replicas, Math.max(this.served[pool.name] ?? 0, this.staying(pool.name)));
    const owed = served - unavailable;
    this.holds(`enough nodes of ${pool.name} serve: ${serving} of ${owed}`, serving >= owed, event);
    this.served = { ...this.served, [pool.name]: served };
  }

  /** Applies another manifest; a refusal is a valid result. */
  apply(): boolean {
    const { spec } = this.world.declared;
    const pools = POOLS.filter(() => this.random() < 0.9).map((name) => ({
      ...{ name, replicas: this.below(4), machineType: this.pick(TYPES), rollout: this.pick(ROLLOUTS) },
      ...{ connection: spec.controlPlane.connection, rootDisk: spec.controlPlane.rootDisk },
    }));
    const isSame = this.random() < 0.4;
    const replicas = isSame ? spec.controlPlane.replicas : this.pick(CONTROL_PLANES);
    const machineType = this.random() < 0.8 ? spec.controlPlane.machineType : this.pick(TYPES);
    const controlPlane = { ...spec.controlPlane, replicas, machineType };
    const isAccepted = this.world.applySpec({ ...spec, controlPlane, pools });
    this.count(isAccepted ? 'applied' : 'refused');
    return isAccepted;
  }

  private scale(): void {
    const { spec } = this.world.declared;
    const name = this.pick(POOLS);
    const pools = spec.pools.map((pool) => (pool.name === name ? { ...pool, replicas: this.below(5) } : pool));
    this.count(this.world.applySpec({ ...spec, pools }) ? 'scaled' : 'refused');
  }

  /** A host goes down. Faults never cost etcd its quorum, so that only Fairlead can lose it. */
  private lose(): void {
    const { kubernetes, down, etcd } = this.world;
    const from = this.random() < 0.6 ? etcd : kubernetes;
    const up = [...from].filter((name) => !down.has(name));
    if (up.length === 0) return;
    const node = this.pick(up);
    const healthy = [...etcd].filter((name) => !down.has(name)).length;
    if (etcd.has(node) && healthy - 1 < majorityOf(etcd.size)) return;
    const pool = this.poolOf(node);
    const before = this.serving(pool);
    down.add(node);
    this.take(pool, before - this.serving(pool));
    this.world.lose(node);
    this.count('lost');
  }

  /** Its host is restored, or it is replaced, as by a health check. */
  private repair(): void {
    const [node] = this.world.down;
    if (node === undefined) return;
    if (this.random() < 0.3) {
      this.world.recover(node);
      this.count('recovered');
      return;
    }
    this.world.replace(node, 'remove-first', `h${this.world.events.length}`);
    this.count(this.world.refused === undefined ? 'replaced' : 'refused');
  }

  step(): void {
    this.world.run(1 + this.below(25));
    const chance = this.random();
    if (chance < 0.2) this.apply();
    else if (chance < 0.3) this.scale();
    else if (chance < 0.4) this.fail();
    else if (chance < 0.52) this.lose();
    else if (chance < 0.68) this.repair();
    else if (chance < 0.8) this.world.crash(this.below(2));
    else if (chance < 0.85) this.world.redeliver();
    else if (chance < 0.95) this.calm();
    else this.world.command('retry');
  }

  private fail(): void {
    this.world.fail(this.pick(FAILURES));
    this.count('failed');
  }

  private calm(): void {
    this.world.heal();
    this.world.command('release');
  }

  /** Ends all faults, and retries what has failed. */
  settle(): void {
    this.calm();
    for (const node of this.world.down) this.world.recover(node);
    this.world.run();
    for (let tries = 0; tries < RETRIES_MAX && this.world.trouble() !== undefined; tries += 1) {
      this.world.command('retry');
      this.world.run();
    }
  }

  /** Compares nodes and machines of each pool with the declaration. */
  expectAsDeclared(): void {
    const { controlPlane, pools } = this.world.declared.spec;
    expect(this.world.trouble()).toBeUndefined();
    for (const { name, replicas, machineType } of [...pools, { ...controlPlane, name: 'control-plane' }])
      expect([name, this.world.machinesIn(name).map(({ spec, serves }) => [spec, serves])]).toEqual([
        name,
        Array.from({ length: replicas }, () => [machineType, true]),
      ]);
  }
}
