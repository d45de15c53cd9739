import { ExternalFailure, type Fact } from '@fairlead/contracts';
import type { Handle } from '@fairlead/event-sourcing/jetstream';
import { stored } from '@fairlead/event-sourcing/spec';
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Watched } from '../health/watched.nodes.js';
import { clusterRequested, planOf, uid } from '../nodes/nodes.fixtures.js';
import { clusterKey, type NodeRow } from '../nodes/nodes.projection.js';
import { presence, type RecordPresence } from './presence.decider.js';
import type { WorkloadView } from '../kubernetes/kubernetes.ports.js';
import type { ListedNode } from './presence.planner.js';
import { PresenceEffects } from './presence.effects.js';

const INTERVAL_MS = 60_000;
const watched = (cluster: string, node: string): Watched => {
  const because = { eventId: 'e', correlationId: 'c' };
  const row = { namespace: 'default', cluster, uid: `uid-${cluster}`, node, providerId: `lab://${node}`, because };
  return { key: `${cluster}/${node}`, row, lost: false, expectedSinceMs: 0 } as unknown as Watched;
};
const ready = (...names: readonly string[]): readonly ListedNode[] =>
  names.map((name) => ({
    name,
    registered: { uid: name, atMs: 0 },
    ready: true,
    message: '',
    pressures: [],
    providerId: `lab://${name}`,
  }));

type Recorded = RecordPresence['data'];

/** Clusters, the responses of their API, and the facts recorded about them. */
class Fleet {
  readonly listed = new Map<string, readonly ListedNode[] | 'no answer'>();
  /** Keys: `kind/namespace/name`. */
  readonly workloads = new Map<string, WorkloadView>();
  /** Whether the API is unavailable for this list. */
  isOut: (look: number) => boolean = () => false;
  readonly stated: Fact[] = [];
  readonly asked: string[] = [];
  readonly looks: string[] = [];
  readonly recorded: Recorded[] = [];
  readonly counted: string[] = [];
  readonly deleted: string[] = [];
  readonly effects: PresenceEffects;
  /** Simulates the agent of that key reporting that its Node object is gone. */
  losesSight: (key: string) => void = () => undefined;

  /** `state`: that of the single cluster under test. */
  constructor(
    nodes: readonly Watched[],
    private state = presence.initial,
  ) {
    const handle = (async (_decider: unknown, _stream: unknown, command: RecordPresence) => {
      this.recorded.push(command.data);
      for (const one of presence.decide(this.state, command) as readonly Fact[]) {
        this.stated.push(one);
        this.state = presence.evolve(this.state, stored(one, 1));
      }
      return { kind: 'decided', state: this.state };
    }) as unknown as Handle;
    const groups = new Map<string, NodeRow[]>();
    for (const { row } of nodes) {
      const key = clusterKey(row.namespace, row.cluster);
      groups.set(key, [...(groups.get(key) ?? []), row]);
    }
    this.effects = new PresenceEffects({
      nodes: { byCluster: () => groups, get: (key) => nodes.find((node) => node.key === key) },
      heartbeats: { whenNodeChanges: (callback) => void (this.losesSight = callback) },
      access: {
        of: async (_uid, cluster) =>
          ({
            nodes: async () => this.list(cluster),
            node: async (name: string) => this.list(cluster).find((node) => node.name === name),
            workload: async (kind: string, namespace: string, name: string) => {
              this.asked.push(name);
              return this.workloads.get(`${kind}/${namespace}/${name}`);
            },
            deleteNode: async (name: string) => void this.deleted.push(name),
          }) as never,
      },
      handle,
      metrics: { addCounter: () => (of) => void this.counted.push(String(of['outcome'])) },
      settings: { nodesWatchIntervalMs: INTERVAL_MS, strangerLimitMs: 5 * INTERVAL_MS },
    });
    this.effects.onApplicationBootstrap();
  }

  private list(cluster: string): readonly ListedNode[] {
    this.looks.push(cluster);
    const listed = this.isOut(this.looks.length) ? 'no answer' : (this.listed.get(cluster) ?? 'no answer');
    if (listed !== 'no answer') return listed;
    throw new ExternalFailure({ operation: 'list nodes', target: cluster, message: 'ECONNREFUSED', retryable: true });
  }

  async after(intervals: number): Promise<this> {
    await jest.advanceTimersByTimeAsync(intervals * INTERVAL_MS);
    return this;
  }
}

describe('the Nodes of clusters', () => {
  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** With that many, one replica lists each every 2,000 s, and one with a reason every 1,000 s. */
  const thousand = (lost: readonly string[] = []): Fleet => {
    const clusters = Array.from({ length: 1_000 }, (_, index) => `c-${index}`);
    const fleet = new Fleet(
      clusters.map((cluster) => {
        const { row, ...rest } = watched(cluster, `${cluster}-w-1`);
        return { ...rest, row: { ...row, lost: lost.includes(cluster) } };
      }),
    );
    for (const cluster of clusters) fleet.listed.set(cluster, ready(`${cluster}-w-1`));
    return fleet;
  };
  const FIRST_ROUND = 2_000_000 / INTERVAL_MS;

  it('are listed once in two seconds in total by a replica with very many clusters', async () => {
    const { looks } = await thousand().after(FIRST_ROUND * 1.2);
    expect(looks.length).toBeGreaterThan(1_000);
    expect(looks.length).toBeLessThan(1_400);
    expect(new Set(looks).size).toBe(1_000);
  });

  it('are listed at once if an agent reports its own as gone, so that this is recorded within 270 s among a thousand clusters', async () => {
    const fleet = await thousand().after(FIRST_ROUND * 1.2);
    const [looks, recorded] = [fleet.looks.length, fleet.recorded.length];
    const gone = Array.from({ length: 10 }, (_, index) => `c-${index}`);
    for (const cluster of gone) {
      fleet.listed.set(cluster, []);
      fleet.losesSight(`${cluster}/${cluster}-w-1`);
    }
    await fleet.after(270_000 / INTERVAL_MS);
    const stated = new Set(fleet.recorded.slice(recorded).flatMap(({ missing }) => missing));
    expect(stated).toEqual(new Set(gone.map((cluster) => `${cluster}-w-1`)));
    expect(fleet.looks.slice(looks).filter((cluster) => !gone.includes(cluster)).length).toBeLessThan(200);
  });

  it('are recorded as missing within 1,300 s among a thousand clusters if an agent is silent', async () => {
    const fleet = await thousand(['c-7']).after(FIRST_ROUND * 1.2);
    const recorded = fleet.recorded.length;
    fleet.listed.set('c-7', []);
    await fleet.after(1_300_000 / INTERVAL_MS);
    expect(fleet.recorded.slice(recorded).flatMap(({ missing }) => missing)).toContain('c-7-w-1');
  });

  it('are listed again within 1,100 s among a thousand clusters after a failed call', async () => {
    const fleet = await thousand().after(FIRST_ROUND * 1.2);
    const looksOf = (): number => fleet.looks.filter((cluster) => cluster === 'c-7').length;
    const before = looksOf();
    fleet.listed.set('c-7', 'no answer');
    fleet.losesSight('c-7/c-7-w-1');
    await fleet.after(180_000 / INTERVAL_MS);
    expect(looksOf()).toBe(before + 1);
    await fleet.after(1_100_000 / INTERVAL_MS);
    expect(looksOf()).toBe(before + 2);
  });

  it('are listed at most eight times as often as others if an agent repeatedly loses its Node', async () => {
    const fleet = await thousand().after(FIRST_ROUND * 1.2);
    const before = fleet.looks.length;
    for (let minutes = 0; minutes < 40; minutes += 1) {
      fleet.losesSight('c-7/c-7-w-1');
      await fleet.after(1);
    }
    const looks = fleet.looks.slice(before).filter((cluster) => cluster === 'c-7').length;
    expect(looks).toBeGreaterThan(10);
    expect(looks).toBeLessThanOrEqual((40 * INTERVAL_MS * 8) / 1_000_000 + 1);
  });

  it('are listed at most eight times as often if a tenant changes them between lists', async () => {
    const fleet = await thousand().after(FIRST_ROUND * 1.2);
    const before = fleet.looks.length;
    let strangers = 0;
    while (strangers < 40) {
      fleet.listed.set('c-7', ready('c-7-w-1', `stranger-${(strangers += 1)}`));
      await fleet.after(1);
    }
    const looks = fleet.looks.slice(before).filter((cluster) => cluster === 'c-7').length;
    expect(looks).toBeGreaterThan(3);
    expect(looks).toBeLessThanOrEqual((40 * INTERVAL_MS * 8) / 1_000_000 + 1);
  });

  it('are listed with one call per cluster and interval, and recorded with every fifth list while nothing changes', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `c-${index}`);
    const fleet = new Fleet(names.flatMap((name) => [watched(name, 'w-1'), watched(name, 'w-2')]));
    for (const name of names) fleet.listed.set(name, ready('w-1', 'w-2'));
    await fleet.after(10);
    for (const name of names) {
      const count = fleet.looks.filter((one) => one === name).length;
      expect([name, count >= 8 && count <= 12]).toEqual([name, true]);
    }
    expect(fleet.recorded.length).toBeLessThanOrEqual(3 * names.length);
    expect(fleet.recorded.every(({ missing, strangers }) => missing.length + strangers.length === 0)).toBe(true);
    await fleet.effects.beforeApplicationShutdown();
  });

  it('are deleted only if they have no machine and are not Ready for too long [ORBITER 23]', async () => {
    const state = presence.evolve(presence.initial, stored(clusterRequested(), 1));
    const { key, row, ...rest } = watched('shop', 'w-1');
    const fleet = new Fleet([{ key, ...rest, row: { ...row, uid } }], state);
    const listed = [...ready('w-1', 'stray'), { ...ready('idle')[0]!, ready: false }];
    fleet.listed.set('shop', listed);
    await fleet.after(5);
    expect(fleet.deleted).toEqual([]);
    fleet.listed.set('shop', 'no answer');
    await fleet.after(2);
    fleet.listed.set('shop', listed);
    await fleet.after(5);
    expect(fleet.deleted).toEqual([]);
    await fleet.after(3);
    expect(new Set(fleet.deleted)).toEqual(new Set(['idle']));
    await fleet.effects.beforeApplicationShutdown();
  });

  it('override an agent within 66 s after Kubernetes marks its node as not Ready, with two lists', async () => {
    const { key, row, ...rest } = watched('shop', 'w-1');
    const mutable = { ...row, uid, ready: true };
    const facts = [
      clusterRequested(),
      { type: 'VmsPlanned', data: { uid, machines: [planOf('w-1')] } } as Fact,
      { type: 'NodeReady', data: { uid, node: 'w-1', revision: 1, software: {} } } as Fact,
    ];
    const state = facts.map((fact, at) => stored(fact, at + 1)).reduce(presence.evolve, presence.initial);
    const fleet = new Fleet([{ key, ...rest, row: mutable }], state);
    fleet.listed.set('shop', ready('w-1'));
    await fleet.after(3);
    const looks = fleet.looks.length;
    fleet.listed.set('shop', [{ ...ready('w-1')[0]!, ready: false, message: 'no status' }]);
    await fleet.after(1.1);
    await jest.advanceTimersByTimeAsync(6_000);
    expect(fleet.stated.map(({ type }) => type)).toEqual(['NodeReadinessContradicted']);
    expect(fleet.looks.length - looks).toBeLessThanOrEqual(3);
    await fleet.effects.beforeApplicationShutdown();
  });

  it('are not missing while the API does not respond, nor by one list before an outage and one after it', async () => {
    const fleet = new Fleet([watched('shop', 'w-1'), watched('shop', 'w-2')]);
    fleet.listed.set('shop', 'no answer');
    await fleet.after(10);
    expect([fleet.recorded, new Set(fleet.counted)]).toEqual([[], new Set(['failed'])]);
    for (let outages = 0; outages < 5; outages += 1) {
      const before = fleet.looks.length;
      fleet.listed.set('shop', ready('w-1'));
      while (fleet.looks.length === before) await jest.advanceTimersByTimeAsync(1_000);
      fleet.listed.set('shop', 'no answer');
      await fleet.after(2);
    }
    expect(fleet.recorded.flatMap(({ missing }) => missing)).toEqual([]);
    fleet.listed.set('shop', ready('w-1'));
    await fleet.after(4);
    expect(fleet.recorded.at(-1)?.missing).toEqual(['w-2']);
    await fleet.effects.beforeApplicationShutdown();
  });
});

const workload = (kind: WorkloadView['kind'], desired: number, ready = desired): WorkloadView => ({
  ...{ kind, namespace: 'kube-system', name: '', desired, ready, updated: desired, former: 0 },
  ...{ observed: true, version: 'v1' },
});

describe('the addons of a cluster', () => {
  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const COREDNS = 'Deployment/kube-system/coredns';
  const PROXY = 'DaemonSet/kube-system/kube-proxy';

  const clusterWith = (...addons: readonly string[]): Fleet => {
    const facts: readonly Fact[] = [
      clusterRequested(),
      ...addons.map((addon): Fact => ({ type: 'AddonInstalled', data: { uid, addon, version: 'v1' } })),
    ];
    const state = facts.map((fact, at) => stored(fact, at + 1)).reduce(presence.evolve, presence.initial);
    const { row, ...rest } = watched('shop', 'w-1');
    const fleet = new Fleet([{ ...rest, row: { ...row, uid } }], state);
    fleet.listed.set('shop', ready('w-1'));
    fleet.workloads.set(COREDNS, workload('Deployment', 2)).set(PROXY, workload('DaemonSet', 1));
    return fleet;
  };

  it('are checked with every fifth list while all run, but only those that are installed', async () => {
    const fleet = await clusterWith('coredns').after(22);
    expect(new Set(fleet.asked)).toEqual(new Set(['coredns']));
    expect(fleet.asked.length).toBeGreaterThanOrEqual(4);
    expect(fleet.asked.length).toBeLessThanOrEqual(6);
    expect(fleet.stated).toEqual([]);
    await fleet.effects.beforeApplicationShutdown();
  });

  it('are degraded once two checks in a row miss one, which is recorded once, and recover after one check', async () => {
    const fleet = await clusterWith('coredns', 'kube-proxy').after(4);
    fleet.workloads.delete(COREDNS);
    await fleet.after(10);
    const message = 'there is no Deployment kube-system/coredns';
    expect(fleet.stated).toEqual([{ type: 'AddonDegraded', data: { uid, addon: 'coredns', message } }]);
    fleet.workloads.set(COREDNS, workload('Deployment', 2, 1));
    await fleet.after(7);
    expect(fleet.stated.slice(1)).toEqual([{ type: 'AddonRecovered', data: { uid, addon: 'coredns' } }]);
    await fleet.effects.beforeApplicationShutdown();
  });

  it('are not degraded by one check before an API outage and one after it', async () => {
    const fleet = await clusterWith('coredns').after(4);
    fleet.workloads.delete(COREDNS);
    fleet.isOut = (look) => look % 2 === 0;
    await fleet.after(20);
    expect(fleet.stated).toEqual([]);
    await fleet.effects.beforeApplicationShutdown();
  });
});
