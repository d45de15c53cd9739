import { ExternalFailure } from '@fairlead/contracts';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import type { DrainPod } from './drain.planner.js';
import { NodeDrain, type DrainableCluster } from './node.drain.js';

const SEEDS = 100;
const LOOK_MS = 250;
/** Controllers, budgets and webhooks act for at most this long; afterwards only Fairlead's own delays remain. */
const BEHAVIOUR_MS = 60_000;
const LIMIT_MS = 10 * 60_000;
const SECOND_MS = 1_000;

interface Controller {
  readonly name: string;
  /** Its pods return to the cordoned node, each this long after the previous one has gone, without end. */
  readonly returnsAfterMs: number | undefined;
  /** Budgets refuse, and webhooks deny or fail, until then. */
  readonly refusedUntilMs: number;
  readonly refusedBy: 'budget' | 'webhook';
  readonly endsAfterMs: number;
}

type PlacedPod = DrainPod & { readonly goneAtMs: number };

/** A Ready node, and controllers that replace each deleted pod, immediately or later, there or elsewhere. */
class World implements DrainableCluster {
  nowMs = 0;
  begunMs: number | undefined;
  crashes = 0;
  readonly pods = new Map<string, PlacedPod>();
  readonly evictions: { readonly pod: PlacedPod; readonly controller: string }[] = [];
  readonly initial = new Map<string, number>();
  /** Pods created before the drain began or, because the API has whole seconds, within that second. */
  readonly wereThere = new Set<string>();
  private readonly due: { readonly atMs: number; readonly controller: Controller }[] = [];
  private readonly controllers: ReadonlyMap<string, Controller>;
  private made = 0;

  constructor(private readonly random: () => number) {
    const controllers = Array.from({ length: 1 + Math.floor(random() * 5) }, (_, index) => this.newController(index));
    this.controllers = new Map(controllers.map((one) => [one.name, one]));
    this.nowMs = Math.floor(random() * SECOND_MS);
    for (const one of controllers) {
      const count = 1 + Math.floor(random() * 4);
      this.initial.set(one.name, count);
      for (let index = 0; index < count; index += 1) this.make(one, -Math.floor(random() * 100) * SECOND_MS);
    }
  }

  private newController(index: number): Controller {
    const { random } = this;
    return {
      name: `c-${index}`,
      returnsAfterMs: random() < 0.6 ? random() * 3 * SECOND_MS : undefined,
      refusedUntilMs: random() < 0.5 ? random() * BEHAVIOUR_MS : 0,
      refusedBy: random() < 0.5 ? 'budget' : 'webhook',
      endsAfterMs: random() * 5 * SECOND_MS,
    };
  }

  private make({ name }: Controller, createdMs: number): void {
    this.made += 1;
    const uid = `${name}-${this.made}`;
    if (this.begunMs === undefined || Math.floor(createdMs / SECOND_MS) * SECOND_MS <= this.begunMs)
      this.wereThere.add(`default/${uid}`);
    this.pods.set(uid, {
      ...{ namespace: 'default', name: uid, uid, phase: 'Running', deleting: false, mirror: false },
      createdMs: Math.floor(createdMs / SECOND_MS) * SECOND_MS,
      ...{ toleratesCordon: true, finalizers: [], controller: { kind: 'ReplicaSet', name } },
      ...{ labels: {}, annotations: {}, claims: this.random() < 0.2 ? [uid] : [] },
      priority: this.random() < 0.2 ? 2_000_000_000 : 0,
      goneAtMs: Number.POSITIVE_INFINITY,
    });
  }

  pass(ms: number): void {
    this.nowMs += ms;
    for (const [uid, { goneAtMs, controller }] of this.pods) {
      if (goneAtMs > this.nowMs) continue;
      this.pods.delete(uid);
      const owner = this.controllers.get(controller?.name ?? '');
      if (owner?.returnsAfterMs !== undefined)
        this.due.push({ atMs: goneAtMs + owner.returnsAfterMs, controller: owner });
    }
    for (const { atMs, controller } of this.due.filter((one) => one.atMs <= this.nowMs)) this.make(controller, atMs);
    this.due.splice(0, this.due.length, ...this.due.filter((one) => one.atMs > this.nowMs));
  }

  beginDrain = async () => (this.begunMs ??= Math.floor(this.nowMs / SECOND_MS) * SECOND_MS);
  node = async () => ({ ready: true });
  podsOn = async () => [...this.pods.values()];
  volumeOf = async (_namespace: string, claim: string) => claim;
  attachedVolumes = async () => [];
  deletePod = async () => undefined;
  evict: DrainableCluster['evict'] = async ({ uid }) => {
    const pod = this.pods.get(uid);
    const owner = this.controllers.get(pod?.controller?.name ?? '');
    if (pod === undefined || owner === undefined) return { answer: 'gone' };
    if (this.nowMs < owner.refusedUntilMs) {
      if (owner.refusedBy === 'budget') return { answer: 'refused', budget: 'default/b', message: 'a budget says no' };
      throw new ExternalFailure({ operation: `evict ${uid}`, target: 'demo', message: 'denied the request' });
    }
    this.evictions.push({ pod, controller: owner.name });
    this.pods.set(uid, { ...pod, deleting: true, goneAtMs: this.nowMs + owner.endsAfterMs });
    return { answer: 'evicted' };
  };
}

/** A drain whose process crashes occasionally, until nothing is left to wait for. */
const drained = async (world: World, random: () => number): Promise<void> => {
  const begin = () => new NodeDrain(world, 'w-1', { mark: 'removal', nowMs: () => world.nowMs });
  for (let drain = begin(); ; world.pass(LOOK_MS)) {
    const { left, returned } = await drain.look();
    expect(left.filter((pod) => !world.wereThere.has(pod))).toEqual([]);
    // What is there and not waited for is named, of many the first ones.
    const names = new Set([...left, ...returned.map(({ pod }) => pod)]);
    const present = [...world.pods.keys()].map((uid) => `default/${uid}`);
    expect(names.size >= 20 || present.every((pod) => names.has(pod))).toBe(true);
    if (left.length === 0) return;
    if (world.nowMs > LIMIT_MS) throw new Error(`${left.join(', ')} are waited for`);
    if (random() >= 0.02) continue;
    world.crashes += 1;
    drain = begin();
  }
};

describe('A drain', () => {
  it(`ends whatever controllers, budgets and webhooks do for a while; it waits for pods that were there when it began, evicts no others, and names them (${SEEDS} seeds)`, async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const random = seededRandom(seed);
      const world = new World(random);
      await drained(world, random);
      const { evictions, begunMs = 0, initial, crashes } = world;
      const counts = new Map<string, number>();
      for (const { pod, controller } of evictions) {
        counts.set(controller, (counts.get(controller) ?? 0) + 1);
        expect([seed, pod.createdMs <= begunMs]).toEqual([seed, true]);
      }
      // After a crash, pods created within the second in which the drain began cannot be distinguished from earlier
      // ones.
      for (const [controller, count] of counts)
        expect([seed, count <= (initial.get(controller) ?? 0) * (1 + crashes)]).toEqual([seed, true]);
    }
  });
});
