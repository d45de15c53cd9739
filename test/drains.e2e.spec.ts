import type { ClusterManifestView, NodeList, StoredEvent } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findKubectl } from './system/kubectl.js';
import { startSystem, type System } from './system/system.js';

const run = promisify(execFile);
const TIMEOUT_MS = 240_000;
const PATH = '/ns/default/clusters/shop';
const machines = { connection: 'lab', machineType: 'lab.medium' };

/** A Deployment with two pods, and a budget that allows no eviction. */
const guarded = (minAvailable: number): readonly object[] => [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'nginx' }] } },
    },
  },
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web', namespace: 'default' },
    spec: { minAvailable, selector: { matchLabels: { app: 'web' } } },
  },
];

const podOn = (node: string, app: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: app, namespace: 'default', labels: { app } },
  spec: { nodeName: node, containers: [{ name: app, image: 'nginx' }] },
});

const attachedTo = (node: string): object => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'VolumeAttachment',
  metadata: { name: 'data' },
  spec: { attacher: 'drains.fairlead.dev', nodeName: node, source: { persistentVolumeName: 'data' } },
});

describe('the removal of a worker whose pods may not leave', () => {
  let system: System;
  let kubectl: (...args: string[]) => Promise<string>;

  const manifest = async (minSeq = 0): Promise<ClusterManifestView> =>
    (await system.call<ClusterManifestView>('GET', `${PATH}/manifest?minSeq=${minSeq}`)).body;
  const replicas = async (minSeq: number) => (await manifest(minSeq)).spec.pools.map((pool) => pool.replicas);
  const apply = async (items: readonly object[]): Promise<void> => {
    const file = join(system.environment.dataDir, 'items.json');
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await kubectl('apply', '-f', file);
  };
  const after = (seq: number, type: StoredEvent['type'], node?: string) =>
    system.until(
      'shop',
      ({ type: seen, meta, data }) =>
        seen === type && meta.seq > seq && (node === undefined || ('node' in data && data.node === node)),
      TIMEOUT_MS,
    );
  /** The node of the Deployment's first pod. */
  const nodeOfWeb = (): Promise<string> =>
    eventually(
      async () => (await kubectl('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[0].spec.nodeName}')).trim(),
      (node) => node !== '',
      { withinMs: TIMEOUT_MS, everyMs: 200 },
    );

  beforeAll(async () => {
    system = await startSystem({ light: true, env: { DRAIN_LIMIT_MS: '2000' } });
    const spec = {
      serviceType: 'single',
      controlPlane: { replicas: 1, ...machines },
      pools: [{ name: 'web', replicas: 4, ...machines }],
    };
    const body = { apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'shop' }, spec };
    expect((await system.call('PUT', `${PATH}/manifest`, body)).status).toBe(202);
    await system.until('shop', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    const config = join(system.environment.dataDir, 'shop.kubeconfig');
    const read = await system.call<string>('GET', `${PATH}/kubeconfig`);
    writeFileSync(config, read.body, { mode: 0o600 });
    const program = await findKubectl();
    kubectl = async (...args) => (await run(program, ['--kubeconfig', config, ...args], { timeout: 60_000 })).stdout;
    await apply(guarded(2));
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'can be cancelled: the node is uncordoned, its pods were not evicted, and its pool counts it again',
    async () => {
      const node = await nodeOfWeb();
      const { seq } = await system
        .call('DELETE', `${PATH}/nodes/${node}`)
        .then(() => system.until('shop', ({ type }) => type === 'NodeRemovalRequested', TIMEOUT_MS))
        .then(({ meta }) => meta);
      const blocked = await after(seq, 'NodeDrainBlocked', node);
      expect(JSON.stringify(blocked.data)).toContain('default/web');
      expect(await replicas(blocked.meta.seq)).toEqual([3]);
      const path = `${PATH}/nodes/${node}/cancel-removal`;
      expect((await system.call('POST', path, { reason: 'the budget allows none' })).status).toBe(202);
      const kept = await after(seq, 'NodeRemovalCancelled', node);
      expect(await replicas(kept.meta.seq)).toEqual([4]);
      expect(await kubectl('get', 'node', node, '-o', 'jsonpath={.spec.unschedulable}')).toBe('');
      const { items } = (await system.call<NodeList>('GET', `${PATH}/nodes?minSeq=${kept.meta.seq}`)).body;
      expect(items.find(({ name }) => name === node)).toMatchObject({ ready: true });
      const again = await system.call<{ reason: string }>('POST', path, {});
      expect([again.status, again.body.reason]).toEqual([409, 'node.removal-not-cancellable']);
    },
    TIMEOUT_MS,
  );

  /** One pod on this node that tolerates every taint: whenever it is evicted, it is recreated there. */
  const helper = (node: string): object => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'helper', namespace: 'default' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'helper' } },
      template: {
        metadata: { labels: { app: 'helper' } },
        spec: {
          tolerations: [{ operator: 'Exists' }],
          nodeSelector: { 'kubernetes.io/hostname': node },
          containers: [{ name: 'helper', image: 'nginx' }],
        },
      },
    },
  });

  it(
    'waits for an eviction that a webhook denies, with its message, and completes when it is allowed, despite returning pods',
    async () => {
      await apply([
        helper(
          (await kubectl('get', 'nodes', '-o', 'name'))
            .split('\n')
            .find((name) => name.includes('-w-'))
            ?.replace('node/', '') ?? '',
        ),
      ]);
      const node = await eventually(
        async () =>
          (await kubectl('get', 'pods', '-l', 'app=helper', '-o', 'jsonpath={.items[0].spec.nodeName}')).trim(),
        (name) => name !== '',
        { withinMs: TIMEOUT_MS, everyMs: 200 },
      );
      const fault = { kind: 'eviction-denied', machine: node, message: 'the broker is moved by its operator' };
      await system.lab('PUT', '/v1/faults', { items: [fault] });
      await apply(guarded(0));
      await system.call('DELETE', `${PATH}/nodes/${node}`);
      const { seq } = (await system.events('shop')).findLast(({ type }) => type === 'NodeRemovalRequested')!.meta;
      const blocked = await after(seq, 'NodeDrainBlocked', node);
      expect(JSON.stringify(blocked.data)).toContain(
        'admission webhook \\"drain.lab.fairlead.dev\\" denied the request: the broker is moved by its operator',
      );
      await system.lab('PUT', '/v1/faults', { items: [] });
      const drained = await after(seq, 'NodeDrained', node);
      await after(seq, 'NodeRemoved', node);
      expect(await system.events('shop')).not.toContainEqual(expect.objectContaining({ type: 'BootstrapStepFailed' }));
      expect(drained.data).toMatchObject({ dead: false });
      await kubectl('delete', 'deployment', 'helper');
      await apply(guarded(2));
    },
    TIMEOUT_MS,
  );

  const patch = async (rules: readonly object[]): Promise<void> => {
    const headers = { 'content-type': 'application/merge-patch+json' };
    const patched = await system.call('PATCH', `${PATH}/manifest`, { spec: { drain: { rules } } }, headers);
    expect(patched.status).toBe(200);
  };

  it(
    'completes at once if a drain rule skips its pods, even while its drain waits [Cluster API 27]',
    async () => {
      const node = await nodeOfWeb();
      await system.call('DELETE', `${PATH}/nodes/${node}`);
      const { seq } = (await system.events('shop')).findLast(({ type }) => type === 'NodeRemovalRequested')!.meta;
      await after(seq, 'NodeDrainBlocked', node);
      await patch([{ name: 'web', behavior: 'Skip', labels: { app: 'web' } }]);
      const drained = await after(seq, 'NodeDrained', node);
      expect(drained.data).toMatchObject({ evictedPods: 0, dead: false });
      await after(seq, 'NodeRemoved', node);
    },
    TIMEOUT_MS,
  );

  it(
    'drains in the order of several rules: pods that end by themselves, then evicted ones group by group, then its volumes [Cluster API 27]',
    async () => {
      const node = await nodeOfWeb();
      const { body: kubeconfig } = await system.call<string>('GET', `${PATH}/kubeconfig/administrator`);
      const client = new KubernetesClient('shop', kubeconfig, () => undefined);
      const pods = async (): Promise<ReadonlyMap<string, 'there' | 'going'>> => {
        const { items } = await client.core.listNamespacedPod({ namespace: 'default' });
        const own = items.filter(({ spec }) => spec?.nodeName === node);
        return new Map(
          own.map(({ metadata }) => [
            metadata?.name ?? '',
            metadata?.deletionTimestamp === undefined ? 'there' : 'going',
          ]),
        );
      };
      /** No pod is evicted before those of an earlier group are gone. */
      const left = async (): Promise<readonly string[]> => {
        const now = await pods();
        const names = ['batch', 'front', 'db'].filter((name) => now.has(name));
        expect(names.slice(1).map((name) => [name, now.get(name)])).toEqual(
          names.slice(1).map((name) => [name, 'there']),
        );
        return names;
      };
      try {
        await patch([
          { name: 'web', behavior: 'Skip', labels: { app: 'web' } },
          { name: 'batch', behavior: 'WaitCompleted', labels: { app: 'batch' }, order: -10 },
          { name: 'front', behavior: 'Drain', labels: { app: 'front' } },
          { name: 'db', behavior: 'Drain', labels: { app: 'db' }, order: 10 },
        ]);
        await apply([...['batch', 'front', 'db'].map((app) => podOn(node, app)), attachedTo(node)]);
        await eventually(left, (names) => names.length === 3, { withinMs: TIMEOUT_MS, everyMs: 100 });
        await system.call('DELETE', `${PATH}/nodes/${node}`);
        const { seq } = (await system.events('shop')).findLast(({ type }) => type === 'NodeRemovalRequested')!.meta;
        const blocked = await after(seq, 'NodeDrainBlocked', node);
        expect(JSON.stringify(blocked.data)).toContain('default/batch');
        expect(await left()).toEqual(['batch', 'front', 'db']);
        await client.core.deleteNamespacedPod({ name: 'batch', namespace: 'default' });
        await eventually(left, (names) => names.length === 0, { withinMs: TIMEOUT_MS, everyMs: 20 });
        expect((await pods()).size).toBeGreaterThan(0);
        expect(await system.events('shop')).not.toContainEqual(
          expect.objectContaining({ type: 'NodeDrained', data: expect.objectContaining({ node }) }),
        );
        const detachedAt = new Date().toISOString();
        await client.storage.deleteVolumeAttachment({ name: 'data' });
        const drained = await after(seq, 'NodeDrained', node);
        expect(drained.data).toMatchObject({ evictedPods: 2, dead: false });
        expect(drained.meta.time >= detachedAt).toBe(true);
        await after(seq, 'NodeRemoved', node);
      } finally {
        client.close();
      }
    },
    TIMEOUT_MS,
  );
});
