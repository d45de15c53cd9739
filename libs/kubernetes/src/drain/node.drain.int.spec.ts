import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { budget, deployment, startLabCluster, worker, type LabCluster } from '../../test/lab.cluster.js';
import { NodeDrain, type DrainLook } from './node.drain.js';

const OPTIONS = { mark: 'u-spec00', nowMs: () => Date.now() };

describe('The drain of a node', () => {
  let lab: LabCluster;
  const node = worker(1);

  const webOn = async (name: string): Promise<number> =>
    (await lab.cluster.podsOn(name)).filter(({ labels, ready }) => labels['app'] === 'web' && ready).length;
  const empty = (drain: NodeDrain): Promise<DrainLook> =>
    eventually(
      () => drain.look(),
      ({ left }) => left.length === 0,
    );

  let evictionFault: { readonly status: 403 | 500; readonly message: string } | undefined;

  beforeEach(async () => {
    evictionFault = undefined;
    lab = await startLabCluster({ controlPlanes: 1, workers: 2 }, { evictionFault: () => evictionFault });
    await lab.cluster.cordon(worker(2), 'u-before');
    await lab.apply(deployment('web', 3));
    await eventually(
      () => webOn(node),
      (count) => count === 3,
    );
    await lab.cluster.uncordon(worker(2), 'u-before');
    await lab.cluster.cordon(node, 'u-spec00');
  });
  afterEach(() => lab.stop());

  it('counts evicted pods, waits until they are gone, and ignores DaemonSets', async () => {
    const drain = new NodeDrain(lab.cluster, node, OPTIONS);
    await empty(drain);
    expect(drain.evictedPods).toBeGreaterThanOrEqual(3);
    expect(await webOn(node)).toBe(0);
    expect((await lab.cluster.podsOn(node)).some(({ name }) => name.startsWith('kube-proxy'))).toBe(true);
    await eventually(
      () => webOn(worker(2)),
      (count) => count === 3,
    );
  });

  it('names the refusing budget with its pods and message, and continues when the budget allows it', async () => {
    await lab.apply(budget('web', 3));
    await eventually(
      () => lab.cluster.budgets(),
      ([only]) => only?.disruptionsAllowed === 0,
    );
    const drain = new NodeDrain(lab.cluster, node, OPTIONS);
    const { refusals, left } = await drain.look();
    expect(left.length).toBeGreaterThanOrEqual(3);
    expect(refusals).toEqual([
      {
        budget: 'default/web',
        pods: [expect.stringMatching(/^default\/web-/), expect.anything(), expect.anything()],
        message: expect.stringContaining('needs 3 healthy pods and has 3 currently'),
      },
    ]);
    expect(await webOn(node)).toBe(3);
    await lab.apply(budget('web', 2));
    await empty(drain);
    expect(drain.forcedPods).toBe(0);
  });

  it('overrides a budget only on request', async () => {
    await lab.apply(budget('web', 3));
    const drain = new NodeDrain(lab.cluster, node, OPTIONS);
    await drain.look();
    await eventually(
      () => drain.force(),
      ({ left }) => left.length === 0,
    );
    expect(drain.forcedPods).toBeGreaterThanOrEqual(3);
  });

  it('does not wait for pods of a node without a kubelet', async () => {
    lab.simulated.setKubelet(node, { running: false });
    await eventually(
      () => lab.cluster.node(node),
      (view) => view?.ready === false,
    );
    await empty(new NodeDrain(lab.cluster, node, OPTIONS));
  });

  it('continues after a crash: a new process finds exactly what is left', async () => {
    await new NodeDrain(lab.cluster, node, OPTIONS).look();
    const after = new NodeDrain(lab.cluster, node, OPTIONS);
    await empty(after);
    expect(await webOn(node)).toBe(0);
  });

  it('ends despite pods that tolerate its cordon and return, and evicts each controller once', async () => {
    const tolerations = [{ operator: 'Exists' }];
    await lab.apply(deployment('helper', 2, { tolerations, nodeSelector: { 'kubernetes.io/hostname': node } }));
    const helpers = async (): Promise<readonly string[]> =>
      (await lab.cluster.podsOn(node)).filter(({ labels }) => labels['app'] === 'helper').map(({ uid }) => uid);
    const first = await eventually(helpers, ({ length }) => length === 2);
    const drain = new NodeDrain(lab.cluster, node, OPTIONS);
    await empty(drain);
    await eventually(helpers, (uids) => uids.length === 2 && !uids.some((uid) => first.includes(uid)));
    const after = await drain.look();
    expect(after).toMatchObject({ left: [], refusals: [] });
    expect(after.returned.map(({ reason }) => reason)).toEqual(
      Array(2).fill('comes back: tolerates node.kubernetes.io/unschedulable'),
    );
    const evicted = drain.evictedPods;
    await empty(drain);
    expect(drain.evictedPods).toBe(evicted);
  });

  it('begins once per mark, by the clock of the API server, even for a process that starts later', async () => {
    const begunMs = (await lab.cluster.beginDrain(node, 'u-spec00')) ?? 0;
    const [pod] = await lab.cluster.podsOn(node);
    expect(begunMs).toBeGreaterThanOrEqual(pod?.createdMs ?? Infinity);
    expect(begunMs % 1_000).toBe(0);
    await eventually(() => Date.now() > begunMs + 1_000); // Marks have a resolution of one second.
    expect(await lab.cluster.beginDrain(node, 'u-spec00')).toBe(begunMs);
    expect(await lab.cluster.beginDrain(node, 'u-other')).toBeGreaterThan(begunMs);
    await lab.cluster.uncordon(node, 'u-other');
    expect(await lab.cluster.beginDrain(node, 'u-spec00')).toBeGreaterThan(begunMs);
    expect(await lab.cluster.beginDrain('unknown', 'u-spec00')).toBeUndefined();
  });

  it.each([
    [403, 'admission webhook "drain.example.org" denied the request: its operator moves it'],
    [500, 'Internal error occurred: failed calling webhook "drain.example.org": no endpoints available'],
  ] as const)('waits while evictions are answered with %i, and quotes the response', async (status, message) => {
    evictionFault = { status, message };
    const drain = new NodeDrain(lab.cluster, node, OPTIONS);
    const look = await drain.look();
    expect(look.refusals).toEqual([expect.objectContaining({ budget: null, message })]);
    expect(look.isDenied).toBe(true);
    evictionFault = undefined;
    await empty(drain);
  });
});
