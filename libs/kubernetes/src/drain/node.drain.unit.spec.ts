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
  labels: {},
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
  const limits = { sliceMs: 0, detachMs: 0, everyMs: 1, signal: new AbortController().signal };
  const done = { outcome: 'drained', evictedPods: 0, dead: false, leftPods: 0, attachedVolumes: 0 };

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
    expect(await drainNode(cluster, 'w-1', limits)).toEqual({ ...done, dead: true });
    expect(cluster.evictions).toEqual([]);
  });

  it('goes on waiting when its slice is over, and names each pod that is left with who refuses it [Cluster API 27]', async () => {
    cluster.refused.add('web');
    expect(await drainNode(cluster, 'w-1', limits)).toEqual({
      outcome: 'waiting',
      left: 3,
      pods: [
        { pod: 'default/db-0', reason: 'it has not ended yet' },
        { pod: 'default/db-1', reason: 'it has not ended yet' },
        { pod: 'default/web', reason: 'the budget db says no' },
      ],
    });
  });

  it('proceeds with the pods that are left once their time is over [Cluster API 27]', async () => {
    cluster.refused.add('web');
    const drained = await drainNode(cluster, 'w-1', { ...limits, sliceMs: 60_000, remainingMs: -1 });
    expect(drained).toEqual({ ...done, evictedPods: 1, leftPods: 3 });
  });

  it('waits until volumes are detached, and no longer than it may [Cluster API 27]', async () => {
    for (const name of ['db-0', 'db-1']) await cluster.deletePod({ name } as never);
    cluster.attached.add('volume of data-0');
    expect(await drainNode(cluster, 'w-1', { ...limits, sliceMs: 60_000, detachMs: 20 })).toEqual({
      ...done,
      evictedPods: 1,
      attachedVolumes: 1,
    });
    const drained = drainNode(cluster, 'w-1', { ...limits, detachMs: 60_000 });
    cluster.attached.clear();
    expect(await drained).toEqual(done);
  });

  it('does not wait for volumes of pods that stay', async () => {
    const rules = [{ name: 'db', behavior: 'Skip' as const }];
    for (const volume of ['data-0', 'data-1']) cluster.attached.add(`volume of ${volume}`);
    expect(await drainNode(cluster, 'w-1', { ...limits, rules, detachMs: 60_000 })).toEqual(done);
    expect(cluster.evictions).toEqual([]);
  });
});
