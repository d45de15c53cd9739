import { WorldFailure, type Fact } from '@fairlead/contracts';
import type { Handle } from '@fairlead/event-sourcing/jetstream';
import { stored } from '@fairlead/event-sourcing/spec';
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Watched } from '../health/watched.nodes.js';
import { clusterRequested, uid } from '../nodes/nodes.fixtures.js';
import { presence, type RecordPresence } from './presence.decider.js';
import type { ListedNode } from './presence.planner.js';
import { PresenceEffects } from './presence.effects.js';

const INTERVAL_MS = 60_000;
const watched = (cluster: string, node: string): Watched => {
  const because = { eventId: 'e', correlationId: 'c' };
  const row = { namespace: 'default', cluster, uid: `uid-${cluster}`, node, providerId: `lab://${node}`, because };
  return { key: `${cluster}/${node}`, row, lost: false, expectedSinceMs: 0 } as unknown as Watched;
};
const ready = (...names: readonly string[]): readonly ListedNode[] =>
  names.map((name) => ({ name, registered: { uid: name, atMs: 0 }, ready: true, providerId: `lab://${name}` }));

interface Recorded {
  readonly missing: readonly string[];
}

/** Clusters, what their API answers, and what was recorded of them. */
class Fleet {
  readonly listed = new Map<string, readonly ListedNode[] | 'no answer'>();
  readonly looks: string[] = [];
  readonly recorded: Recorded[] = [];
  readonly counted: string[] = [];
  readonly deleted: string[] = [];
  readonly effects: PresenceEffects;

  /** `state`: of the one cluster whose decisions matter. */
  constructor(
    nodes: readonly Watched[],
    private state = presence.initial,
  ) {
    const handle = (async (_decider: unknown, _stream: unknown, command: RecordPresence) => {
      this.recorded.push(command.data);
      for (const one of presence.decide(this.state, command) as readonly Fact[])
        this.state = presence.evolve(this.state, stored(one, 1));
      return { kind: 'decided', state: this.state };
    }) as unknown as Handle;
    this.effects = new PresenceEffects({
      nodes: { all: () => nodes },
      access: {
        of: async (_uid, cluster) =>
          ({
            nodes: async () => this.list(cluster),
            node: async (name: string) => this.list(cluster).find((node) => node.name === name),
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
    const listed = this.listed.get(cluster) ?? 'no answer';
    if (listed !== 'no answer') return listed;
    throw new WorldFailure({ operation: 'list nodes', target: cluster, message: 'ECONNREFUSED', retryable: true });
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

  it('are listed twice a second in all by a replica that looks at very many clusters', async () => {
    const clusters = Array.from({ length: 1_000 }, (_, index) => `c-${index}`);
    const { looks } = await new Fleet(clusters.map((cluster) => watched(cluster, `${cluster}-w-1`))).after(10);
    expect(looks.length).toBeGreaterThan(1_000);
    expect(looks.length).toBeLessThan(1_400);
    expect(new Set(looks).size).toBe(1_000);
  });

  it('are listed with one call for each cluster and interval, and nothing is recorded again while nothing changes', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `c-${index}`);
    const fleet = new Fleet(names.flatMap((name) => [watched(name, 'w-1'), watched(name, 'w-2')]));
    for (const name of names) fleet.listed.set(name, ready('w-1', 'w-2'));
    await fleet.after(10);
    for (const name of names) {
      const count = fleet.looks.filter((one) => one === name).length;
      expect([name, count >= 8 && count <= 12]).toEqual([name, true]);
    }
    expect(fleet.recorded).toHaveLength(names.length);
    await fleet.effects.beforeApplicationShutdown();
  });

  it('are deleted when they have no machine and are not Ready for too long, and only then [ORBITER 23]', async () => {
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

  it('are not missing while the API does not answer, nor by one look before and one after an outage', async () => {
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
