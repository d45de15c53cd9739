import type { StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clusterBody, startSystem, type ClusterView, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;

interface Asked {
  readonly point: string;
  readonly node?: string;
  readonly attempt: number;
}

interface Shown extends ClusterView {
  readonly nodes: readonly { readonly name: string; readonly role: string }[];
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly message: string }[];
}

describe('hooks of a cluster', () => {
  let system: System;
  let server: Server;
  let url = '';
  const asked: Asked[] = [];
  const path = '/ns/default/clusters/hooked';
  /** What the hook does with its next call at a point. */
  const script = new Map<string, readonly object[]>();
  const ofHooks = async (point: string): Promise<readonly string[]> =>
    (await system.events('hooked')).flatMap(({ type, data }) =>
      'point' in data && data.point === point && 'hook' in data ? [type] : [],
    );
  const until = (desired: (event: StoredEvent) => boolean): Promise<StoredEvent> =>
    system.until('hooked', desired, TIMEOUT_MS);

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { data } = JSON.parse(body) as { data: Asked };
        asked.push(data);
        const [next = { status: 'Success' }, ...others] = script.get(data.point) ?? [];
        script.set(data.point, others);
        if (!('silent' in next)) response.end(JSON.stringify(next));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const env = { HOOK_ADDRESSES_ALLOWED: '127.0.0.0/8', HOOK_RETRY_MIN_MS: '200' };
    system = await startSystem({ light: true, env });
    const body = clusterBody('hooked', { controlPlanes: 1, workers: 2 });
    expect((await system.call('POST', '/ns/default/clusters', body)).status).toBe(202);
    await until(({ type }) => type === 'ClusterReady');
  }, TIMEOUT_MS);
  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await system?.stop();
  }, 60_000);

  it(
    'hold an upgrade before its first change: asked for time, then silent, and then its end is asked for [Cluster API 29]',
    async () => {
      const { body } = await system.call<{ spec: object }>('GET', `${path}/manifest`);
      const hooks = [{ name: 'change-board', points: ['BeforeUpgrade'], url, timeout: '1s' }];
      const put = await system.call('PUT', `${path}/manifest`, { ...body, spec: { ...body.spec, hooks } });
      expect(put.status).toBe(200);
      const wait = { status: 'Success', retryAfterSeconds: 3_600, message: 'the board meets at noon' };
      script.set('BeforeUpgrade', [{ silent: true }, wait]);
      const request = { renewCertificates: true, pools: [] };
      const planned = await system.call<{ id: string; planHash: string }>('POST', `${path}/upgrades`, request, {
        prefer: 'wait=60',
      });
      const of = `${path}/upgrades/${planned.body.id}`;
      expect(asked.filter(({ point }) => point === 'BeforeUpgrade')).toEqual([]);
      await system.call('POST', `${of}/approve`, { planHash: planned.body.planHash });
      const blocked = await until(({ type }) => type === 'UpgradeHookBlocked');
      expect(await ofHooks('BeforeUpgrade')).toEqual(['UpgradeHookFailed', 'UpgradeHookBlocked']);
      const shown = await system.call<{ phase: string; message: string }>('GET', `${of}?minSeq=${blocked.meta.seq}`);
      expect(shown.body).toMatchObject({ phase: 'Approved' });
      expect(shown.body.message).toMatch(
        /the hook change-board \(BeforeUpgrade\) holds it: the board meets at noon; next/,
      );
      const cluster = await system.call<Shown>('GET', `${path}?minSeq=${blocked.meta.seq}`);
      expect(cluster.body.conditions.find(({ type }) => type === 'HookBlocked')?.message ?? '').toContain(
        'paused by hook change-board (BeforeUpgrade)',
      );
      expect((await system.call('POST', `${of}/abort`, { reason: 'not today' })).status).toBe(202);
      await until(({ type }) => type === 'RolloutAborted');
      expect((await system.events('hooked')).map(({ type }) => type)).not.toContain('RolloutStarted');
    },
    TIMEOUT_MS,
  );

  it(
    'hold a drain twice, fail under one policy and not under the other, and are asked before the cluster goes [Cluster API 29]',
    async () => {
      const { body } = await system.call<{ spec: object }>('GET', `${path}/manifest`);
      const points = [
        'BeforeNodeDrain',
        'AfterNodeDrain',
        'BeforeNodeDelete',
        'AfterNodeDelete',
        'BeforeClusterDelete',
      ];
      const hooks = [
        { name: 'strict', points, url, timeout: '1s' },
        { name: 'lenient', points: ['BeforeNodeDrain'], url: `${url}/lenient`, timeout: '1s', failurePolicy: 'Ignore' },
      ];
      const put = await system.call('PUT', `${path}/manifest`, { ...body, spec: { ...body.spec, hooks } });
      expect(put.status).toBe(200);
      const wait = { status: 'Success', retryAfterSeconds: 1, message: 'a backup runs' };
      script.set('BeforeNodeDrain', [wait, wait, { status: 'Success' }, { silent: true }]);
      script.set('BeforeNodeDelete', [{ silent: true }, { status: 'Success' }]);
      const { body: before } = await system.call<Shown>('GET', path);
      const worker = before.nodes.find(({ role }) => role === 'worker')?.name ?? '';
      expect((await system.call('DELETE', `${path}/nodes/${worker}`)).status).toBe(202);
      const blocked = await until(({ type }) => type === 'HookBlocked');
      const shown = await system.call<Shown>('GET', `${path}?minSeq=${blocked.meta.seq}`);
      const condition = shown.body.conditions.find(({ type }) => type === 'HookBlocked');
      expect(condition?.message ?? '').toMatch(
        /paused by hook strict \(BeforeNodeDrain of .*\) since .*: a backup runs; next/,
      );
      await until(({ type }) => type === 'VmDeleted');
      await until(({ type, data }) => type === 'HookSucceeded' && 'point' in data && data.point === 'AfterNodeDelete');
      expect(await ofHooks('BeforeNodeDrain')).toEqual(['HookBlocked', 'HookBlocked', 'HookSucceeded', 'HookFailed']);
      expect(await ofHooks('BeforeNodeDelete')).toEqual(['HookFailed', 'HookSucceeded']);
      expect(await ofHooks('AfterNodeDrain')).toEqual(['HookSucceeded']);
      expect((await system.call('DELETE', path)).status).toBe(202);
      await until(({ type }) => type === 'ClusterDeleted');
      expect(await ofHooks('BeforeClusterDelete')).toEqual(['HookSucceeded']);
    },
    TIMEOUT_MS,
  );
});
