import type { ClusterManifestView, ErrorView, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const web = (replicas: number) => ({ name: 'web', replicas, ...machines });

describe('a declared cluster', () => {
  let system: System;
  const path = '/ns/default/clusters/shop/manifest';
  const manifest = (...pools: readonly object[]) => ({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'shop' },
    spec: { serviceType: 'single', controlPlane: { replicas: 1, ...machines }, pools },
  });
  const apply = (body: unknown, query = '') =>
    system.call<ClusterManifestView & Omit<ErrorView, 'kind'>>('PUT', `${path}${query}`, body);
  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const read = async (): Promise<ClusterManifestView> => {
    const minSeq = (await log()).at(-1)?.meta.seq ?? 0;
    return (await system.call<ClusterManifestView>('GET', `${path}?minSeq=${minSeq}`)).body;
  };
  /** The pools with their declared sizes and their Ready nodes. */
  const pools = async () => {
    const { spec, status } = await read();
    return spec.pools.map(({ name, replicas }) => {
      const { readyReplicas } = status?.pools.find((pool) => pool.name === name) ?? {};
      return [name, replicas, readyReplicas];
    });
  };

  /** Applies it, and waits until every requested step is done. */
  const carryOut = async (body: unknown): Promise<ClusterManifestView> => {
    const planned = await apply(body, '?dryRun=All');
    const { status, body: applied } = await apply(body);
    expect([status, applied.plan]).toEqual([202, planned.body.plan]);
    const events = await log();
    const since = events.findLast(({ type }) => type === 'ClusterSpecChanged')?.meta.seq ?? 0;
    const leaving = applied.plan?.flatMap(({ nodes }) => nodes.map(({ name }) => name)) ?? [];
    const grows = applied.plan?.some(({ nodes, count }) => count > nodes.length) ?? false;
    if (grows) await system.until('shop', ({ type, meta }) => type === 'ClusterReady' && meta.seq > since, TIMEOUT_MS);
    for (const node of leaving)
      await system.until('shop', (event) => event.type === 'VmDeleted' && event.data.name === node, TIMEOUT_MS);
    return applied;
  };

  beforeAll(async () => {
    system = await startSystem({ light: true });
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'is created by its manifest; the same manifest again records nothing',
    async () => {
      await carryOut(manifest(web(2)));
      expect(await pools()).toEqual([['web', 2, 2]]);
      const before = (await log()).filter(({ meta }) => meta.context === 'request').length;
      const again = await apply(manifest(web(2)));
      expect([again.status, again.body.plan, again.body.operations]).toEqual([200, [], []]);
      expect((await log()).filter(({ meta }) => meta.context === 'request')).toHaveLength(before);
    },
    TIMEOUT_MS,
  );

  it(
    'has as many nodes as its manifest declares: 4, 1, none, and 2 again; the steps match the dry run',
    async () => {
      for (const replicas of [4, 1, 0, 2]) {
        await carryOut(manifest(web(replicas)));
        expect(await pools()).toEqual([['web', replicas, replicas]]);
      }
      const machinesLeft = (await system.standing())['machines'];
      expect(machinesLeft).toBe(3);
    },
    TIMEOUT_MS,
  );

  it(
    'may have several pools, and loses one that its manifest no longer declares',
    async () => {
      await carryOut(manifest(web(1), { name: 'batch', replicas: 1, ...machines }));
      expect(await pools()).toEqual([
        ['web', 1, 1],
        ['batch', 1, 1],
      ]);
      await carryOut(manifest(web(1)));
      expect(await pools()).toEqual([['web', 1, 1]]);
    },
    TIMEOUT_MS,
  );

  it('refuses a manifest based on an earlier version', async () => {
    const { metadata, spec } = await read();
    const stale = { ...manifest(), metadata: { ...metadata, resourceVersion: '1' }, spec };
    const { status, body } = await apply(stale);
    expect([status, body.reason]).toEqual([409, 'cluster.resource-version']);
  });

  it(
    'with a rejected request is created by a corrected manifest, even if that changes immutable fields',
    async () => {
      const corrected = '/ns/default/clusters/corrected/manifest';
      const body = (podCidr: string, controlPlane = machines) => ({
        ...manifest(web(1)),
        metadata: { name: 'corrected' },
        spec: {
          serviceType: 'single',
          network: { podCidr },
          controlPlane: { replicas: 1, ...controlPlane },
          pools: [web(1)],
        },
      });
      const put = (manifestOf: object) => system.call<ErrorView>('PUT', corrected, manifestOf);
      // The range of the lab's machines overlaps it.
      expect((await put(body('192.168.0.0/16'))).status).toBe(202);
      const { meta, data } = await system.until('corrected', ({ type }) => type === 'ClusterRejected', TIMEOUT_MS);
      expect(data).toMatchObject({ code: 'cluster.network-overlap' });
      expect((await put(body('10.244.0.0/16'))).status).toBe(202);
      const isReady = (event: StoredEvent): boolean => event.type === 'ClusterReady' && event.meta.seq > meta.seq;
      const ready = await system.until('corrected', isReady, TIMEOUT_MS);
      const { body: view } = await system.call<ClusterManifestView>('GET', `${corrected}?minSeq=${ready.meta.seq}`);
      expect(view).toMatchObject({
        spec: { network: { podCidr: '10.244.0.0/16' } },
        status: { phase: 'Provisioned', pools: [{ name: 'web', readyReplicas: 1 }] },
      });
    },
    TIMEOUT_MS,
  );

  it(
    'whose machines the provider refuses cannot be changed: the refusal names the next step, and a retry works',
    async () => {
      const stuck = '/ns/default/clusters/stuck';
      const body = (machineType: string) => ({
        ...manifest(),
        metadata: { name: 'stuck' },
        spec: {
          serviceType: 'single',
          controlPlane: { replicas: 1, ...machines },
          pools: [{ ...web(1), machineType }],
        },
      });
      const put = (manifestOf: object) => system.call<ErrorView>('PUT', `${stuck}/manifest`, manifestOf);
      await system.lab('PUT', '/v1/faults', { items: [{ kind: 'quota' }] });
      expect((await put(body('lab.medium'))).status).toBe(202);
      await system.until('stuck', ({ type }) => type === 'ClusterFailed', TIMEOUT_MS);
      await system.lab('DELETE', '/v1/faults');
      const refused = await put(body('lab.large'));
      expect([refused.status, refused.body.reason]).toEqual([409, 'cluster.creation-failed']);
      expect(refused.body.help).toContain('fairlead cluster retry stuck');
      expect((await system.call('POST', `${stuck}/retry`)).status).toBe(202);
      await system.until('stuck', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    },
    TIMEOUT_MS,
  );

  it(
    'has the same kind of manifest as one created by a request: sent back, neither changes anything',
    async () => {
      const asked = clusterBody('plain', { controlPlanes: 1, workers: 1 });
      expect((await system.call('POST', '/ns/default/clusters', asked)).status).toBe(202);
      await system.until('plain', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
      const plain = '/ns/default/clusters/plain/manifest';
      const worker = [{ connection: 'lab', count: 1, spec: 'lab.medium' }];
      expect((await system.call('POST', '/ns/default/clusters/plain/nodes', { worker })).status).toBe(202);
      const grown = (event: StoredEvent): boolean => event.type === 'VmsPlanned' && event.data.requestId !== undefined;
      const { meta } = await system.until('plain', grown, TIMEOUT_MS);
      const { body } = await system.call<ClusterManifestView>('GET', `${plain}?minSeq=${meta.seq}`);
      expect(body.spec.pools.map(({ name, replicas }) => [name, replicas])).toEqual([
        ['worker-1', 1],
        ['worker-2', 1],
      ]);
      const { apiVersion, kind, metadata, spec } = body;
      const again = await system.call('PUT', plain, { apiVersion, kind, metadata: { name: metadata.name }, spec });
      expect(again.status).toBe(200);
      const types = (await system.events('plain')).map(({ type }) => type);
      expect(types).not.toContain('ClusterSpecChanged');
    },
    TIMEOUT_MS,
  );
});
