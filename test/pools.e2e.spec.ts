import type { ClusterManifestView, NodeReplacementsView, StoredEvent } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const SETTLED_WITHIN_MS = 90_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const TAINT = { key: 'dedicated', value: 'web', effect: 'NoSchedule' };

describe('a pool', () => {
  let system: System;
  let kubernetes: KubernetesClient;
  const path = '/ns/default/clusters/shop/manifest';
  const manifest = (replicas: number, change: object = {}) => ({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'shop', labels: { team: 'a' } },
    spec: {
      serviceType: 'single',
      controlPlane: { replicas: 1, ...machines },
      pools: [{ name: 'web', replicas, ...machines, ...change }],
    },
  });
  const apply = async (replicas: number, change: object = {}): Promise<ClusterManifestView> => {
    const { status, body } = await system.call<ClusterManifestView>('PUT', path, manifest(replicas, change));
    expect([[200, 202].includes(status), body]).toEqual([true, body]);
    return body;
  };
  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const read = async (): Promise<ClusterManifestView> => {
    const minSeq = (await log()).at(-1)?.meta.seq ?? 0;
    return (await system.call<ClusterManifestView>('GET', `${path}?minSeq=${minSeq}`)).body;
  };
  const status = async () => (await read()).status?.pools[0];
  /** The last change is complete: every new machine has its node, and every removed one is gone. */
  const settled = async (replicas: number): Promise<void> => {
    await eventually(
      async () => ({ ...(await status()), machines: (await system.standing())['machines'] }),
      ({ phase, availableReplicas, machines: left }) =>
        phase === 'Running' && availableReplicas === replicas && left === replicas + 1,
      { withinMs: SETTLED_WITHIN_MS },
    );
  };
  /** The workers in the Kubernetes API. */
  const workers = async () => {
    const { items } = await kubernetes.core.listNode();
    return items.filter(({ metadata }) => metadata?.name?.includes('-w-') === true);
  };
  const metadataOf = async () =>
    (await workers()).map(({ metadata, spec }) => ({
      tier: metadata?.labels?.['tier'],
      role: metadata?.labels?.['node-role.kubernetes.io/web'],
      taints: spec?.taints?.map(({ key, value, effect }) => ({ key, value, effect })) ?? [],
    }));

  beforeAll(async () => {
    system = await startSystem({ light: true });
  }, TIMEOUT_MS);
  afterAll(async () => {
    kubernetes?.close();
    await system?.stop();
  }, 60_000);

  it(
    'gives its nodes labels and taints when they join, in the declared zones',
    async () => {
      const labels = { tier: 'web', 'node-role.kubernetes.io/web': '' };
      await apply(3, { labels, taints: [TAINT], zones: ['lab-1a'] });
      await settled(3);
      const { body } = await system.call<string>('GET', '/ns/default/clusters/shop/kubeconfig/administrator');
      kubernetes = new KubernetesClient('shop', body, () => undefined);
      expect(await metadataOf()).toEqual(Array.from({ length: 3 }, () => ({ tier: 'web', role: '', taints: [TAINT] })));
      const zones = (await workers()).map(({ metadata }) => metadata?.labels?.['topology.kubernetes.io/zone']);
      expect(zones).toEqual(['lab-1a', 'lab-1a', 'lab-1a']);
      expect(await status()).toMatchObject({
        phase: 'Running',
        replicas: 3,
        updatedReplicas: 3,
        unavailableReplicas: 0,
      });
      expect((await status())?.providerIDs).toHaveLength(3);
      expect((await read()).metadata.labels).toEqual({ team: 'a' });
    },
    TIMEOUT_MS,
  );

  it(
    'changes labels and taints of its existing nodes, and not those set by others',
    async () => {
      const [first] = await workers();
      const name = first?.metadata?.name ?? '';
      const set = (await log()).filter(({ type }) => type === 'NodeLabelsSet').length;
      await apply(3, { labels: { tier: 'front' } });
      await system.until(
        'shop',
        (() => {
          let seen = 0;
          return ({ type }) => type === 'NodeLabelsSet' && (seen += 1) === set + 3;
        })(),
        TIMEOUT_MS,
      );
      expect(await metadataOf()).toEqual(
        Array.from({ length: 3 }, () => ({ tier: 'front', role: undefined, taints: [] })),
      );
      const { metadata } = await kubernetes.core.readNode({ name });
      expect(metadata?.labels?.['kubernetes.io/hostname']).toBe(name);
      expect(await status()).toMatchObject({ updatedReplicas: 3 });
    },
    TIMEOUT_MS,
  );

  it(
    'replaces selected nodes one by one, each by a new one that joins first',
    async () => {
      const before = (await workers()).map(({ metadata }) => metadata?.name ?? '').toSorted();
      const asked = before.slice(0, 2);
      const request = { select: { nodes: asked }, reason: 'bad disks' };
      const { status: code, body } = await system.call<NodeReplacementsView>(
        'POST',
        '/ns/default/clusters/shop/nodes/replacements',
        request,
      );
      expect([code, body.nodes, body.operations.length]).toEqual([202, asked, 1]);
      await system.until('shop', ({ type }) => type === 'PoolRolloutCompleted', TIMEOUT_MS);
      await settled(3);
      const now = (await workers()).map(({ metadata }) => metadata?.name ?? '');
      expect([now.length, now.filter((name) => before.includes(name))]).toEqual([3, before.slice(2)]);
      const steps = (await log()).flatMap((event) =>
        event.type === 'NodeReplacementReady' || (event.type === 'NodeRemoved' && asked.includes(event.data.node))
          ? [`${event.type} ${event.data.node}`]
          : [],
      );
      expect(steps).toEqual(asked.flatMap((node) => [`NodeReplacementReady ${node}`, `NodeRemoved ${node}`]));
    },
    TIMEOUT_MS,
  );

  it(
    'that is scaled to 5 and, before those have joined, to 1, keeps 1 existing node [Cluster API 15]',
    async () => {
      const before = (await workers()).map(({ metadata }) => metadata?.name);
      await apply(5, { labels: { tier: 'front' } });
      await apply(1, { labels: { tier: 'front' } });
      await settled(1);
      const after = (await workers()).map(({ metadata }) => metadata?.name);
      expect([after.length, before.includes(after[0])]).toEqual([1, true]);
    },
    TIMEOUT_MS,
  );

  it(
    'may be scaled to 0 and back [Cluster API 15]',
    async () => {
      for (const replicas of [0, 2]) {
        await apply(replicas, { labels: { tier: 'front' } });
        await settled(replicas);
        expect((await metadataOf()).map(({ tier }) => tier)).toEqual(Array.from({ length: replicas }, () => 'front'));
      }
    },
    TIMEOUT_MS,
  );
});
