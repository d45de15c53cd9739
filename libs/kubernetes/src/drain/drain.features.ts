import type { DrainRule } from '@fairlead/contracts';
import { expect, it } from '@jest/globals';
import { budget, eventually } from '../../test/workloads.js';
import type { ClusterApi, PodView } from '../cluster.ports.js';
import type { KubernetesClient } from '../kubernetes.client.js';
import { leaves } from './drain.planner.js';
import { drainNode, NodeDrain } from './node.drain.js';

const CASE_LIMIT_MS = 60_000;

/** A cluster with two workers and three pods of the Deployment `web`, without a budget for them. */
export interface DrainUnderTest {
  readonly cluster: ClusterApi;
  readonly client: KubernetesClient;
  readonly first: string;
  readonly second: string;
  /** Waits until this many are ready, on this node if given. */
  readyPods(app: string, count: number, node?: string): Promise<readonly PodView[]>;
  /** Waits until the budget allows this many disruptions. */
  disruptions(budgetName: string, allowed: number): Promise<unknown>;
  /** Stops a node's kubelet; the cluster notices later. */
  stopKubelet(node: string): Promise<void>;
}

/** The contract of a drain (node.drain.ts). The cases build on each other; afterwards the first worker is dead. */
export const drainFeatures = (context: () => DrainUnderTest): void => {
  /** May include CoreDNS, depending on the scheduler; it is evicted after all others. */
  const leaving = async (node: string): Promise<readonly PodView[]> =>
    (await context().cluster.podsOn(node)).filter(leaves);
  const limits = {
    mark: 'removal',
    isReported: true,
    sliceMs: 30_000,
    detachMs: 10_000,
    everyMs: 100,
    signal: new AbortController().signal,
  };

  it(
    'drains a node: evicts pods, ignores DaemonSets, waits until the pods are gone [ORBITER 17]',
    async () => {
      const { cluster, client, first, second, readyPods, disruptions } = context();
      await cluster.cordon(second, 'before');
      await client.core.deleteCollectionNamespacedPod({ namespace: 'default', labelSelector: 'app=web' });
      await readyPods('web', 3, first);
      await cluster.uncordon(second, 'before');
      await cluster.apply([budget('web', 2)]);
      await disruptions('web', 1);
      await cluster.cordon(first, 'removal', { leaving: true });
      const drained = await drainNode(cluster, first, limits);
      if (drained.outcome !== 'drained') throw new Error(JSON.stringify(drained));
      // CoreDNS may have been there, too.
      expect(drained.evictedPods).toBeGreaterThanOrEqual(3);
      expect([drained.dead, drained.leftPods]).toEqual([false, 0]);
      const left = await cluster.podsOn(first);
      expect(left.filter(leaves)).toEqual([]);
      expect(left.map(({ controller }) => controller?.kind)).toContain('DaemonSet');
      await readyPods('web', 3, second);
    },
    CASE_LIMIT_MS,
  );

  it(
    'respects disruption budgets: names each pod and its budget, and proceeds only after its timeout [ORBITER 17, Cluster API 27]',
    async () => {
      const { cluster, second, readyPods, disruptions } = context();
      await cluster.apply([budget('web', 3)]);
      await disruptions('web', 0);
      await cluster.cordon(second, 'removal', { leaving: true });
      const waiting = await drainNode(cluster, second, { ...limits, sliceMs: 500 });
      if (waiting.outcome !== 'waiting') throw new Error(JSON.stringify(waiting));
      expect(waiting.pods).toContainEqual({
        pod: expect.stringMatching(/^default\/web-/),
        reason: expect.stringMatching(/disruption budget web needs 3 healthy pods/),
      });
      const late = await drainNode(cluster, second, { ...limits, remainingMs: 500 });
      expect(late).toMatchObject({ outcome: 'drained', leftPods: (await leaving(second)).length });
      await readyPods('web', 3, second);
    },
    CASE_LIMIT_MS,
  );

  it(
    'leaves pods that a rule skips, and waits for the end of those that it must not evict [Cluster API 27]',
    async () => {
      const { cluster, second, readyPods } = context();
      const rule = (behavior: DrainRule['behavior']) => [{ name: 'web', behavior, labels: { app: 'web' } }];
      const ending = await drainNode(cluster, second, { ...limits, rules: rule('WaitCompleted'), sliceMs: 500 });
      if (ending.outcome !== 'waiting') throw new Error(JSON.stringify(ending));
      const web = ending.pods.filter(({ pod }) => pod.startsWith('default/web-'));
      expect(web.map(({ reason }) => reason)).toEqual(Array(3).fill('it ends by itself (WaitCompleted)'));
      const skipping = await drainNode(cluster, second, { ...limits, rules: rule('Skip') });
      expect(skipping).toMatchObject({ outcome: 'drained', leftPods: 0 });
      await readyPods('web', 3, second);
    },
    CASE_LIMIT_MS,
  );

  it(
    'waits until the volumes of a node are detached, or the timeout [Cluster API 27]',
    async () => {
      const { cluster, client, second } = context();
      const rules = [{ name: 'all', behavior: 'Skip' as const }];
      await cluster.apply([
        {
          apiVersion: 'storage.k8s.io/v1',
          kind: 'VolumeAttachment',
          metadata: { name: 'drained' },
          spec: { attacher: 'features.fairlead.dev', nodeName: second, source: { persistentVolumeName: 'pv-drained' } },
        },
      ]);
      const late = await drainNode(cluster, second, { ...limits, rules, detachMs: 300 });
      expect(late).toMatchObject({ outcome: 'drained', attachedVolumes: 1 });
      const drained = drainNode(cluster, second, { ...limits, rules, detachMs: 45_000 });
      await client.storage.deleteVolumeAttachment({ name: 'drained' });
      expect(await drained).toMatchObject({ outcome: 'drained', attachedVolumes: 0 });
    },
    CASE_LIMIT_MS,
  );

  it(
    'overrides a budget only on request',
    async () => {
      const { cluster, first, second, readyPods } = context();
      await cluster.uncordon(first, 'removal');
      const drain = new NodeDrain(cluster, second, { mark: 'removal', nowMs: () => Date.now() });
      const { refusals } = await drain.look();
      expect(refusals).toContainEqual(expect.objectContaining({ budget: 'default/web' }));
      await eventually(
        async () => (await drain.force()).left.filter((pod) => pod.startsWith('default/')),
        (left) => left.length === 0,
      );
      expect(drain.forcedPods).toBeGreaterThanOrEqual(3);
      await readyPods('web', 3, first);
    },
    CASE_LIMIT_MS,
  );

  it(
    'does not wait for the pods of a node that died during its drain',
    async () => {
      const { cluster, first, disruptions, stopKubelet } = context();
      await disruptions('web', 0);
      await cluster.cordon(first, 'removal', { leaving: true });
      const drained = drainNode(cluster, first, { ...limits, sliceMs: 45_000 });
      await stopKubelet(first);
      expect(await drained).toMatchObject({ dead: true });
    },
    CASE_LIMIT_MS,
  );
};
