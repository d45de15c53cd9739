import type { StoredEvent } from '@fairlead/contracts';
import { newClientRequest } from '@fairlead/embedded/credentials';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientOf, SERVED, type AutoscalerClient } from '../apps/gateway/src/autoscaler/autoscaler.fixtures.js';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;

describe('a pool that an autoscaler scales by gRPC', () => {
  let system: System;
  let client: AutoscalerClient;
  const path = '/ns/default/clusters/auto';
  const lastSeq = async (): Promise<number> => (await system.events('auto')).at(-1)?.meta.seq ?? 0;
  const after = (seq: number, desired: (event: StoredEvent) => boolean): Promise<StoredEvent> =>
    system.until('auto', (event) => event.meta.seq > seq && desired(event), TIMEOUT_MS);
  const running = async () => {
    await system.call('GET', `${path}?minSeq=${await lastSeq()}`);
    const { instances } = await client.call('NodeGroupNodes', { id: 'burst' });
    return instances.filter(({ status }) => status.instanceState === 1);
  };

  beforeAll(async () => {
    system = await startSystem({ light: true, env: SERVED });
    const asked = clusterBody('auto', { controlPlanes: 1, workers: 1 });
    expect((await system.call('POST', '/ns/default/clusters', asked)).status).toBe(202);
    await system.until('auto', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    const { key, csr } = await newClientRequest('story');
    const signed = await system.call<AutoscalerClient['credential']>('POST', `${path}/autoscaler/credentials`, { csr });
    expect(signed.status).toBe(201);
    client = clientOf({ credential: signed.body, key });
  }, TIMEOUT_MS);
  afterAll(async () => {
    client?.close();
    await system?.stop();
  }, 60_000);

  it(
    'grows from no node to two, and shrinks to none, node by node',
    async () => {
      const { body } = await system.call<{ spec: { pools: object[] } }>('GET', `${path}/manifest`);
      const burst = { name: 'burst', connection: 'lab', machineType: 'lab.small', autoscaling: { min: 0, max: 2 } };
      const declared = { ...body, spec: { ...body.spec, pools: [...body.spec.pools, burst] } };
      expect((await system.call('PUT', `${path}/manifest`, declared)).status).toBe(200);
      const { nodeBytes } = await client.call('NodeGroupTemplateNodeInfo', { id: 'burst' });
      expect(nodeBytes.length).toBeGreaterThan(0);
      const seq = await lastSeq();
      await client.call('NodeGroupIncreaseSize', { id: 'burst', delta: 2 });
      await after(seq, ({ type }) => type === 'ClusterReady');
      const nodes = (await running()).map(({ id }) => ({ providerID: id, name: '' }));
      expect(nodes).toHaveLength(2);
      for (const node of nodes) {
        const from = await lastSeq();
        expect((await client.call('NodeGroupForNode', { node })).nodeGroup.id).toBe('burst');
        await client.call('NodeGroupDeleteNodes', { id: 'burst', nodes: [node] });
        await after(from, ({ type }) => type === 'VmDeleted');
      }
      expect(await running()).toEqual([]);
      expect(await client.call('NodeGroupTargetSize', { id: 'burst' })).toEqual({ targetSize: 0 });
      const scaled = (await system.events('auto')).filter(({ meta }) => meta.actor === 'system/autoscaler');
      expect(scaled.map(({ type }) => type)).toEqual([
        ...['NodesRequested', 'ClusterSpecChanged'],
        ...['NodeRemovalRequested', 'ClusterSpecChanged', 'NodeRemovalRequested', 'ClusterSpecChanged'],
      ]);
    },
    TIMEOUT_MS,
  );
});
