import { expect, it } from '@jest/globals';
import type { ClusterApi } from '../cluster.ports.js';
import type { KubernetesClient } from '../kubernetes.client.js';

const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

const labelsOf = async (client: KubernetesClient, node: string) =>
  (await client.core.readNode({ name: node })).metadata?.labels ?? {};

/** Two workers that are not cordoned. */
export interface NodesUnderTest {
  readonly cluster: ClusterApi;
  readonly client: KubernetesClient;
  readonly first: string;
  readonly second: string;
}

/** The contract of marks on nodes: cordons, labels, taints. Afterwards the nodes are as before, except for a label. */
export const cordonFeatures = (context: () => NodesUnderTest): void => {
  it('cordons once with a mark, removes from load balancers, and reverts only what that mark did', async () => {
    const { cluster, client, first } = context();
    expect(await cluster.cordon(first, 'u-first1')).toBe(true);
    expect(await cluster.cordon(first, 'u-first1')).toBe(true);
    expect(await cluster.cordon(first, 'u-other1')).toBe(false);
    expect(await cluster.node(first)).toMatchObject({ unschedulable: true, cordonedBy: 'u-first1' });
    expect(await labelsOf(client, first)).toHaveProperty([EXCLUDED], '');
    await cluster.uncordon(first, 'u-other1');
    expect(await cluster.node(first)).toMatchObject({ unschedulable: true });
    await cluster.uncordon(first, 'u-first1');
    expect(await cluster.node(first)).toMatchObject({ unschedulable: false, cordonedBy: null });
    expect(await labelsOf(client, first)).not.toHaveProperty([EXCLUDED]);
    expect(await cluster.cordon('nobody', 'u-first1')).toBeUndefined();
  });

  it('removes a leaving node from load balancers even if someone else cordoned it', async () => {
    const { cluster, client, first } = context();
    await cluster.apply([{ apiVersion: 'v1', kind: 'Node', metadata: { name: first }, spec: { unschedulable: true } }]);
    expect(await cluster.cordon(first, 'u-first1')).toBe(false);
    expect(await labelsOf(client, first)).not.toHaveProperty([EXCLUDED]);
    expect(await cluster.cordon(first, 'removal', { leaving: true })).toBe(false);
    expect(await labelsOf(client, first)).toHaveProperty([EXCLUDED], '');
    expect(await cluster.node(first)).toMatchObject({ unschedulable: true, cordonedBy: null });
    const metadata = { name: first, labels: { [EXCLUDED]: null } };
    await client.objects.patch({ apiVersion: 'v1', kind: 'Node', metadata, spec: { unschedulable: null } } as never);
  });

  it('labels a node and leaves its other labels alone', async () => {
    const { cluster, client, first } = context();
    const before = await labelsOf(client, first);
    await cluster.label(first, { 'kubernetes.io/cluster': 'demo' });
    expect(await labelsOf(client, first)).toEqual({ ...before, 'kubernetes.io/cluster': 'demo' });
  });

  it('taints softly, once, and removes that taint, but no other one', async () => {
    const { cluster, client, first, second } = context();
    const [key, other] = ['fairlead.dev/x', 'fairlead.dev/y'];
    // Kubernetes also taints nodes that are cordoned or NotReady, and removes that with a delay: not checked here.
    const taintsOf = async (node: string): Promise<readonly string[]> =>
      ((await client.core.readNode({ name: node })).spec?.taints ?? [])
        .filter((taint) => taint.key === key || taint.key === other)
        .map((taint) => `${taint.key}:${taint.effect}`);
    await cluster.taint([first], other);
    expect(await cluster.taint([first, second, 'nobody'], key)).toEqual([first, second]);
    await cluster.taint([first], key);
    expect(await taintsOf(first)).toEqual([`${other}:PreferNoSchedule`, `${key}:PreferNoSchedule`]);
    await cluster.untaint([first, second, 'nobody'], key);
    expect(await taintsOf(first)).toEqual([`${other}:PreferNoSchedule`]);
    await cluster.untaint([first], other);
    expect(await taintsOf(first)).toEqual([]);
  });
};
