import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { budget, deployment, startLabCluster, worker, type LabCluster } from '../../test/lab.cluster.js';
import { NodeDrain, type DrainLook } from './node.drain.js';

describe('The emptying of a node', () => {
  let lab: LabCluster;
  const node = worker(1);

  const webOn = async (name: string): Promise<number> =>
    (await lab.cluster.podsOn(name)).filter(({ labels, ready }) => labels['app'] === 'web' && ready).length;
  const empty = (drain: NodeDrain): Promise<DrainLook> =>
    eventually(
      () => drain.look(),
      ({ left }) => left.length === 0,
    );

  beforeEach(async () => {
    lab = await startLabCluster({ controlPlanes: 1, workers: 2 });
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

  it('counts what it evicts, waits until it is gone, and leaves DaemonSets alone', async () => {
    const drain = new NodeDrain(lab.cluster, node, () => Date.now());
    await empty(drain);
    expect(drain.evictedPods).toBeGreaterThanOrEqual(3);
    expect(await webOn(node)).toBe(0);
    expect((await lab.cluster.podsOn(node)).some(({ name }) => name.startsWith('kube-proxy'))).toBe(true);
    await eventually(
      () => webOn(worker(2)),
      (count) => count === 3,
    );
  });

  it('names the budget that refuses, with its pods and its message, and continues when the budget allows it', async () => {
    await lab.apply(budget('web', 3));
    await eventually(
      () => lab.cluster.budgets(),
      ([only]) => only?.disruptionsAllowed === 0,
    );
    const drain = new NodeDrain(lab.cluster, node, () => Date.now());
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

  it('forces what a budget protects only on request', async () => {
    await lab.apply(budget('web', 3));
    const drain = new NodeDrain(lab.cluster, node, () => Date.now());
    await drain.look();
    await eventually(
      () => drain.force(),
      ({ left }) => left.length === 0,
    );
    expect(drain.forcedPods).toBeGreaterThanOrEqual(3);
  });

  it('does not wait for pods of a node whose kubelet is gone', async () => {
    lab.simulated.setKubelet(node, { running: false });
    await eventually(
      () => lab.cluster.node(node),
      (view) => view?.ready === false,
    );
    await empty(new NodeDrain(lab.cluster, node, () => Date.now()));
  });

  it('goes on after a crash: a new process finds what is left and nothing else', async () => {
    await new NodeDrain(lab.cluster, node, () => Date.now()).look();
    const after = new NodeDrain(lab.cluster, node, () => Date.now());
    await empty(after);
    expect(await webOn(node)).toBe(0);
  });
});
