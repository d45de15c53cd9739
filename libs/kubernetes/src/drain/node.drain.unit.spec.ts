import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DrainPod } from './drain.planner.js';
import { drainNode, NodeDrain, type DrainableCluster } from './node.drain.js';

const MINUTE_MS = 60_000;

const pod = (name: string, claims: readonly string[] = []): DrainPod => ({
  namespace: 'default',
  name,
  uid: name,
  phase: 'Running',
  deleting: false,
  mirror: false,
  controller: { kind: 'StatefulSet', name: 'db' },
  annotations: {},
  priority: 0,
  claims,
});

/** A node whose pods go as soon as they are evicted; their volumes stay attached until they are taken away here. */
class FakeCluster implements DrainableCluster {
  readonly attached = new Set<string>();
  readonly evictions: string[] = [];
  readonly refused = new Set<string>();
  ready = true;

  constructor(private readonly pods: Map<string, DrainPod>) {}

  node = async () => ({ ready: this.ready });
  podsOn = async () => [...this.pods.values()];
  volumeOf = async (_namespace: string, claim: string) => `volume of ${claim}`;
  attachedVolumes = async () => [...this.attached];
  evict: DrainableCluster['evict'] = async ({ name }) => {
    this.evictions.push(name);
    if (this.refused.has(name)) return { answer: 'refused', budget: 'default/db', message: 'the budget db says no' };
    for (const claim of this.pods.get(name)?.claims ?? []) this.attached.add(`volume of ${claim}`);
    this.pods.delete(name);
    return { answer: 'evicted' };
  };
  deletePod: DrainableCluster['deletePod'] = async ({ name }) => void this.pods.delete(name);
}

describe('The drain of a node', () => {
  let cluster: FakeCluster;
  let nowMs: number;
  let drain: NodeDrain;
  const limits = { deadlineMs: 0, everyMs: 1, signal: new AbortController().signal };

  beforeEach(() => {
    const pods = [pod('db-0', ['data-0']), pod('db-1', ['data-1']), pod('web')];
    cluster = new FakeCluster(new Map(pods.map((one) => [one.name, one])));
    nowMs = 0;
    drain = new NodeDrain(cluster, 'w-1', () => nowMs);
  });

  it('evicts the next pod with a volume when the volume of the one before is detached', async () => {
    await drain.look();
    await drain.look();
    expect(cluster.evictions.toSorted()).toEqual(['db-0', 'web']);
    cluster.attached.clear();
    await drain.look();
    expect(cluster.evictions.at(-1)).toBe('db-1');
    expect((await drain.look()).left).toEqual([]);
  });

  it('waits for a volume that does not detach for two minutes, and no longer', async () => {
    await drain.look();
    nowMs = 2 * MINUTE_MS - 1;
    await drain.look();
    expect(cluster.evictions).not.toContain('db-1');
    nowMs = 2 * MINUTE_MS;
    await drain.look();
    expect(cluster.evictions).toContain('db-1');
  });

  it('evicts nothing from a node that is not Ready and leaves: no budget and no webhook holds up its removal', async () => {
    cluster.ready = false;
    expect(await drainNode(cluster, 'w-1', limits)).toEqual({ evictedPods: 0, dead: true });
    expect(cluster.evictions).toEqual([]);
  });

  it('names at its deadline each pod that is left, with who refuses it, or that it has not ended', async () => {
    cluster.refused.add('web');
    await expect(drainNode(cluster, 'w-1', limits)).rejects.toMatchObject({
      operation: 'drain',
      target: 'w-1',
      message: expect.stringMatching(/default\/db-1: it has not ended yet; default\/web: the budget db says no/),
    });
  });
});
