import type { ClusterManifestView, ClusterView, ErrorView, StoredEvent } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const CLUSTER = '/ns/default/clusters/shop';

describe('a cluster that is paused during a scale-up', () => {
  let system: System;
  const manifest = (replicas: number, more: object = {}) => ({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'shop' },
    spec: {
      serviceType: 'single',
      controlPlane: { replicas: 1, ...machines, schedulable: true },
      pools: [{ name: 'web', replicas, ...machines }],
      ...more,
    },
  });
  const call = (method: string, path: string, body?: unknown) =>
    system.call<ClusterView>(method, `${CLUSTER}${path}`, body);
  const refusal = async (method: string, path: string, body?: unknown): Promise<readonly unknown[]> => {
    const answer = await system.call<ErrorView>(method, `${CLUSTER}${path}`, body);
    return [answer.status, answer.body.reason];
  };
  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const until = (type: StoredEvent['type'], after = 0): Promise<StoredEvent> =>
    system.until('shop', (event) => event.type === type && event.meta.seq > after, TIMEOUT_MS);
  let pausedAt = 0;

  beforeAll(async () => {
    system = await startSystem({ light: true, delays: 'real' });
    expect((await call('PUT', '/manifest', manifest(0))).status).toBe(202);
    await until('ClusterReady');
    expect((await call('PUT', '/manifest', manifest(2))).status).toBe(202);
    const planned = (event: StoredEvent): boolean => event.type === 'VmsPlanned' && event.data.requestId !== undefined;
    await system.until('shop', planned, TIMEOUT_MS);
    // Both were requested from the provider.
    await eventually(async () => (await system.standing())['machines'] === 3, { withinMs: TIMEOUT_MS / 2 });
    const { status, body } = await call('POST', '/pause', { reason: 'the provider is under maintenance' });
    expect([status, body.status.state, body.status.reasons]).toEqual([200, 'Paused', ['ClusterPaused']]);
    pausedAt = body.lastSeq;
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it('shows the reason and time of its pause, and is not paused twice [Cluster API 30]', async () => {
    const again = await call('POST', '/pause', { reason: 'another' });
    expect(again.status).toBe(200);
    const condition = again.body.conditions.find(({ type }) => type === 'Paused');
    expect(condition).toMatchObject({ status: 'True', message: expect.stringContaining('under maintenance') });
    expect((await log()).filter(({ type }) => type === 'ClusterPaused')).toHaveLength(1);
    const { body } = await system.call<ClusterManifestView>('GET', `${CLUSTER}/manifest`);
    expect([body.spec.paused, body.status?.phase, body.status?.state]).toEqual([true, 'Provisioned', 'Paused']);
  });

  it('refuses every change, including its deletion, and answers reads [azimuth 25]', async () => {
    const paused = [409, 'cluster.paused'];
    expect(await refusal('DELETE', '')).toEqual(paused);
    expect(await refusal('PUT', '/manifest', manifest(3))).toEqual(paused);
    expect(await refusal('POST', '/nodes', { worker: [{ connection: 'lab', count: 1, spec: 'lab.medium' }] })).toEqual(
      paused,
    );
    expect(await refusal('POST', '/etcd/snapshots')).toEqual(paused);
    expect((await call('GET', '/nodes')).status).toBe(200);
    // A manifest without the field keeps the pause.
    expect((await call('PUT', '/manifest', manifest(2))).status).toBe(200);
  });

  it(
    'gets the machines whose creation was in progress, and nothing else; resumed by its manifest, it is as declared [Cluster API 30]',
    async () => {
      // The request to the provider was already sent: it is awaited, so that no machine is forgotten.
      await until('VmCreated', pausedAt);
      expect((await call('PUT', '/manifest', manifest(2, { paused: false }))).status).toBe(200);
      const resumedAt = (await until('ClusterResumed')).meta.seq;
      await until('ClusterReady', resumedAt);
      const meanwhile = (await log()).filter(({ meta }) => meta.seq > pausedAt && meta.seq < resumedAt);
      const types = new Set(meanwhile.map(({ type }) => type));
      // The last machine of a request is recorded together with the announcement of all of them.
      for (const type of ['VmCreated', 'VmsCreated'] as const) types.delete(type);
      expect([...types]).toEqual([]);
      const { body } = await call('GET', `?minSeq=${(await log()).at(-1)?.meta.seq ?? 0}`);
      expect([body.status.state, body.nodes.filter(({ ready }) => ready).length]).toEqual(['Running', 3]);
      expect((await system.standing())['machines']).toBe(3);
    },
    TIMEOUT_MS,
  );
});
