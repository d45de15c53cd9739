import { ExternalFailure } from '@fairlead/contracts';
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
  createdMs: 0,
  toleratesCordon: false,
  finalizers: [],
  mirror: false,
  controller: { kind: 'StatefulSet', name: 'db' },
  labels: {},
  annotations: {},
  priority: 0,
  claims,
});

/** A node whose pods end as soon as they are evicted; their volumes stay attached until the test detaches them. */
class FakeCluster implements DrainableCluster {
  readonly attached = new Set<string>();
  readonly evictions: string[] = [];
  readonly refused = new Set<string>();
  /** Error messages of failing evictions. */
  readonly denied = new Map<string, string>();
  begunMs = 0;
  ready = true;

  constructor(readonly pods: Map<string, DrainPod>) {}

  beginDrain = async () => this.begunMs;

  node = async () => ({ ready: this.ready });
  podsOn = async () => [...this.pods.values()];
  volumeOf = async (_namespace: string, claim: string) => `volume of ${claim}`;
  attachedVolumes = async () => [...this.attached];
  evict: DrainableCluster['evict'] = async ({ name }) => {
    this.evictions.push(name);
    const words = this.denied.get(name);
    if (words !== undefined) throw new ExternalFailure({ operation: `evict ${name}`, target: 'demo', message: words });
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
  const limits = {
    mark: 'removal',
    isReported: false,
    sliceMs: 0,
    detachMs: 0,
    everyMs: 1,
    signal: new AbortController().signal,
  };
  const done = { outcome: 'drained', evictedPods: 0, dead: false, leftPods: 0, attachedVolumes: 0, returned: [] };

  beforeEach(() => {
    const pods = [pod('db-0', ['data-0']), pod('db-1', ['data-1']), pod('web')];
    cluster = new FakeCluster(new Map(pods.map((one) => [one.name, one])));
    nowMs = 0;
    drain = new NodeDrain(cluster, 'w-1', { mark: 'removal', nowMs: () => nowMs });
  });

  it('evicts the next pod with a volume when the volume of the previous one is detached', async () => {
    await drain.look();
    await drain.look();
    expect(cluster.evictions.toSorted()).toEqual(['db-0', 'web']);
    cluster.attached.clear();
    await drain.look();
    expect(cluster.evictions.at(-1)).toBe('db-1');
    expect((await drain.look()).left).toEqual([]);
  });

  it('waits at most two minutes for a volume that does not detach', async () => {
    await drain.look();
    nowMs = 2 * MINUTE_MS - 1;
    await drain.look();
    expect(cluster.evictions).not.toContain('db-1');
    nowMs = 2 * MINUTE_MS;
    await drain.look();
    expect(cluster.evictions).toContain('db-1');
  });

  it('evicts nothing from a NotReady node that is being removed: neither budgets nor webhooks block its removal', async () => {
    cluster.ready = false;
    expect(await drainNode(cluster, 'w-1', limits)).toEqual({ ...done, dead: true });
    expect(cluster.evictions).toEqual([]);
  });

  it('continues to wait after its time slice, and names each remaining pod with what refuses it [Cluster API 27]', async () => {
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

  it('proceeds despite remaining pods after its timeout [Cluster API 27]', async () => {
    cluster.refused.add('web');
    const drained = await drainNode(cluster, 'w-1', { ...limits, sliceMs: 60_000, remainingMs: -1 });
    expect(drained).toEqual({ ...done, evictedPods: 1, leftPods: 3 });
  });

  it('waits until volumes are detached, up to its limit [Cluster API 27]', async () => {
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

  /** A controller's next pod, created when `atMs` has passed. */
  const comesBack = (name: string, atMs: number, more: Partial<DrainPod> = {}): void =>
    void cluster.pods.set(name, { ...pod(name), createdMs: atMs, toleratesCordon: true, ...more });

  it('leaves pods created after it began alone, names them, and ends without them', async () => {
    cluster.pods.clear();
    comesBack('helper-1', 0);
    expect((await drain.look()).left).toEqual(['default/helper-1']);
    comesBack('helper-2', 1_000);
    comesBack('pinned', 1_000, { toleratesCordon: false });
    comesBack('logs', 1_000, { controller: { kind: 'DaemonSet', name: 'logs' } });
    expect(await drain.look()).toMatchObject({
      left: [],
      returned: [
        { pod: 'default/helper-2', reason: 'comes back: tolerates node.kubernetes.io/unschedulable' },
        {
          pod: 'default/pinned',
          reason: 'was created after the drain began, and bound to the node although it is cordoned',
        },
      ],
    });
    expect(cluster.evictions).toEqual(['helper-1']);
    expect(await drainNode(cluster, 'w-1', limits)).toMatchObject({
      outcome: 'drained',
      returned: [{ pod: 'default/helper-2' }, { pod: 'default/pinned' }],
    });
  });

  it('neither waits for nor evicts the successor of a pod of a StatefulSet, which has its name', async () => {
    cluster.pods.clear();
    cluster.pods.set('db-0', { ...pod('db-0'), uid: 'first' });
    await drain.look();
    expect(cluster.evictions).toEqual(['db-0']);
    // It tolerates the cordon, and is pinned to the node by its volume.
    cluster.pods.set('db-0', { ...pod('db-0'), uid: 'second', createdMs: 1_000, toleratesCordon: true });
    expect(await drain.look()).toMatchObject({ left: [], returned: [{ pod: 'default/db-0' }] });
    expect(cluster.evictions).toEqual(['db-0']);
  });

  it('does not wait for a pod whose eviction a budget refused until its controller moved it under its name', async () => {
    cluster.pods.clear();
    cluster.pods.set('db-0', { ...pod('db-0'), uid: 'first' });
    cluster.refused.add('db-0');
    expect(await drain.look()).toMatchObject({ left: ['default/db-0'], refusals: [{ pods: ['default/db-0'] }] });
    // Another node has the pod of that name now.
    cluster.pods.clear();
    expect(await drain.look()).toMatchObject({ left: [], refusals: [], returned: [] });
  });

  it('decides which pods to wait for without memory: after a crash, they are the same', async () => {
    cluster.pods.clear();
    comesBack('helper-1', 0);
    await drain.look();
    comesBack('helper-2', 1_000);
    const after = new NodeDrain(cluster, 'w-1', { mark: 'removal', nowMs: () => nowMs });
    expect(await after.look()).toMatchObject({ left: [], returned: [{ pod: 'default/helper-2' }] });
    expect(cluster.evictions).toEqual(['helper-1']);
  });

  it('evicts the next group although pods of the previous one return', async () => {
    cluster.pods.clear();
    cluster.pods.set('dns', { ...pod('dns'), priority: 2_000_000_000 });
    comesBack('helper-1', 0);
    await drain.look();
    comesBack('helper-2', 1_000);
    await drain.look();
    expect(cluster.evictions).toEqual(['helper-1', 'dns']);
  });

  it("reports a denied eviction with the denial's message, and retries it with backoff", async () => {
    cluster.pods.clear();
    cluster.pods.set('broker-0', pod('broker-0'));
    const words = 'admission webhook "drain.example.org" denied the request: its operator moves it';
    cluster.denied.set('broker-0', words);
    for (; nowMs < 5 * MINUTE_MS; nowMs += 250)
      expect(await drain.look()).toMatchObject({
        refusals: [{ budget: null, pods: ['default/broker-0'], message: words }],
        reasons: { 'default/broker-0': words },
        isDenied: true,
      });
    // After 1, 2, 4, 8, 16 s, then each 30 s.
    expect(cluster.evictions.length).toBe(14);
    cluster.denied.clear();
    nowMs += 30_000;
    await drain.look();
    expect(await drain.look()).toMatchObject({ left: [], refusals: [], isDenied: false });
  });

  it('retries when the API server allows it, and not before', async () => {
    cluster.pods.clear();
    cluster.pods.set('web', pod('web'));
    cluster.evict = async ({ name }) => {
      cluster.evictions.push(name);
      return { answer: 'refused', budget: null, message: 'still being processed', retryAfterMs: 10_000 };
    };
    for (; nowMs < 30_000; nowMs += 1_000) await drain.look();
    expect(cluster.evictions.length).toBe(3);
  });

  it('continues with pods whose deletion is denied when it forces them, and names who denies it', async () => {
    cluster.pods.clear();
    for (const name of ['broker-0', 'web']) cluster.pods.set(name, pod(name));
    const deletePod = cluster.deletePod;
    cluster.deletePod = async (one) => {
      if (one.name === 'broker-0')
        throw new ExternalFailure({ operation: 'delete pod', target: 'demo', message: 'denied the request' });
      await deletePod(one);
    };
    await drain.force();
    expect(await drain.force()).toMatchObject({
      left: ['default/broker-0'],
      refusals: [{ pods: ['default/broker-0'], message: 'denied the request' }],
    });
  });

  it('ends despite a pod whose eviction is denied, after its timeout', async () => {
    cluster.pods.clear();
    cluster.pods.set('broker-0', pod('broker-0'));
    cluster.denied.set('broker-0', 'Internal error occurred: failed calling webhook "drain.example.org"');
    const drained = await drainNode(cluster, 'w-1', { ...limits, sliceMs: 60_000, remainingMs: 20 });
    expect(drained).toEqual({ ...done, leftPods: 1 });
  });

  it('names the finalizers of a pod that does not end', async () => {
    cluster.pods.clear();
    cluster.pods.set('job', { ...pod('job'), deleting: true, finalizers: ['batch.kubernetes.io/job-tracking'] });
    expect((await drain.look()).reasons).toEqual({
      'default/job': 'it is being deleted and has finalizers: batch.kubernetes.io/job-tracking',
    });
  });
});
