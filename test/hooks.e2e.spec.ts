import type { StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@fairlead/testing';
import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startSystem, type ClusterView, type System } from './system/system.js';

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

const machines = { connection: 'lab', machineType: 'lab.medium' };

const manifest = (hooks: readonly object[]): object => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'hooked' },
  spec: {
    serviceType: 'single',
    controlPlane: { replicas: 1, ...machines },
    pools: [{ name: 'web', replicas: 2, ...machines }],
    hooks,
  },
});

interface OperationShown {
  readonly nodes: readonly { readonly name: string; readonly reason: string }[];
}

describe('hooks of a cluster', () => {
  let system: System;
  let server: Server;
  let url = '';
  const asked: Asked[] = [];
  const received: { readonly signature: string; readonly body: string }[] = [];
  const path = '/ns/default/clusters/hooked';
  /** The hook's response to its next call at a point. */
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
        received.push({ signature: String(request.headers['fairlead-signature']), body });
        const [next = { status: 'Success' }, ...others] = script.get(data.point) ?? [];
        script.set(data.point, others);
        if (!('silent' in next)) response.end(JSON.stringify(next));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const env = { HOOK_ADDRESSES_ALLOWED: '127.0.0.0/8', HOOK_RETRY_MIN_MS: '200' };
    system = await startSystem({ light: true, env });
  }, TIMEOUT_MS);
  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await system?.stop();
  }, 60_000);

  it(
    'block a creation before its first machine, and are shown as its reason [Cluster API 29]',
    async () => {
      const hooks = [{ name: 'quota', points: ['BeforeCreate'], url, timeout: '5s' }];
      script.set('BeforeCreate', [{ status: 'Success', retryAfterSeconds: 1, message: 'approval is pending' }]);
      expect((await system.call('PUT', `${path}/manifest`, manifest(hooks))).status).toBe(202);
      const blocked = await until(({ type }) => type === 'HookBlocked');
      const shown = await system.call<Shown>('GET', `${path}?minSeq=${blocked.meta.seq}`);
      expect(shown.body.conditions.find(({ type }) => type === 'HookBlocked')?.message ?? '').toContain(
        'paused by hook quota (BeforeCreate)',
      );
      await until(({ type }) => type === 'ClusterReady');
      const types = (await system.events('hooked')).map(({ type }) => type);
      const order = ['ClusterAccepted', 'HookBlocked', 'HookSucceeded', 'VmsPlanned', 'VmCreated', 'HostReached'];
      const places = order.map((type) => types.findIndex((one) => one === type));
      expect(places).toEqual([...places].sort((one, other) => one - other));
      expect(places).not.toContain(-1);
    },
    TIMEOUT_MS,
  );

  it(
    'block an upgrade before its first change by requesting time and by silence, and are called at its end [Cluster API 29]',
    async () => {
      const { body } = await system.call<{ spec: object }>('GET', `${path}/manifest`);
      const hooks = [{ name: 'change-board', points: ['BeforeUpgrade'], url, timeout: '5s' }];
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
    'block each drain of an upgrade, and are called after it [Cluster API 29]',
    async () => {
      const { body } = await system.call<{ spec: object }>('GET', `${path}/manifest`);
      const hooks = [
        { name: 'traffic', points: ['BeforeNodeDrain', 'AfterNodeDrain', 'AfterUpgrade'], url, timeout: '5s' },
      ];
      const put = await system.call('PUT', `${path}/manifest`, { ...body, spec: { ...body.spec, hooks } });
      expect(put.status).toBe(200);
      script.set('BeforeNodeDrain', [{ status: 'Success', retryAfterSeconds: 1, message: 'traffic moves away' }]);
      const planned = await system.call<{ id: string; planHash: string }>(
        'POST',
        `${path}/upgrades`,
        { reboot: true, controlPlane: false },
        { prefer: 'wait=60' },
      );
      const { id, planHash } = planned.body;
      expect((await system.call('POST', `${path}/upgrades/${id}/approve`, { planHash })).status).toBe(202);
      await until(({ type }) => type === 'RolloutCompleted');
      await until(({ type, data }) => type === 'UpgradeHookSucceeded' && data.point === 'AfterUpgrade');
      const events = await system.events('hooked');
      const cordoned = events.flatMap((event) => (event.type === 'NodeCordoned' ? [event] : []));
      expect(cordoned.length).toBeGreaterThan(0);
      for (const { data, meta } of cordoned) {
        const letGo = events.find(
          (event) =>
            event.type === 'UpgradeHookSucceeded' &&
            event.data.point === 'BeforeNodeDrain' &&
            event.data.operation === data.operation,
        );
        expect(letGo?.meta.seq ?? Infinity).toBeLessThan(meta.seq);
      }
      await until(({ type, data }) => type === 'UpgradeHookSucceeded' && data.point === 'AfterNodeDrain');
    },
    TIMEOUT_MS,
  );

  it(
    'block a requested drain, which its operation and the cluster show, and are called after it [Cluster API 29]',
    async () => {
      const { body } = await system.call<{ spec: object }>('GET', `${path}/manifest`);
      const hooks = [{ name: 'traffic', points: ['BeforeNodeDrain', 'AfterNodeDrain'], url, timeout: '5s' }];
      const put = await system.call('PUT', `${path}/manifest`, { ...body, spec: { ...body.spec, hooks } });
      expect(put.status).toBe(200);
      const wait = { status: 'Success', retryAfterSeconds: 1, message: 'traffic moves away' };
      script.set(
        'BeforeNodeDrain',
        Array.from({ length: 1_000 }, () => wait),
      );
      const { body: before } = await system.call<Shown>('GET', path);
      const worker = before.nodes.find(({ role }) => role === 'worker')?.name ?? '';
      const select = { nodes: [worker] };
      const asking = await system.call<{ operation: string }>('POST', `${path}/nodes/actions`, {
        action: 'drain',
        select,
      });
      expect(asking.status).toBe(202);
      const blocked = await until(({ type }) => type === 'NodeActionHookBlocked');
      const shown = await system.call<Shown>('GET', `${path}?minSeq=${blocked.meta.seq}`);
      const condition = shown.body.conditions.find(({ type }) => type === 'HookBlocked');
      expect(condition?.message ?? '').toContain(`paused by hook traffic (BeforeNodeDrain of ${worker})`);
      const of = `${path}/operations/${asking.body.operation}?minSeq=${blocked.meta.seq}`;
      const operation = await system.call<OperationShown>('GET', of);
      expect(operation.body.nodes.find(({ name }) => name === worker)?.reason ?? '').toContain('traffic moves away');
      expect((await system.events('hooked')).map(({ type }) => type)).not.toContain('NodeActionCordoned');
      script.set('BeforeNodeDrain', []);
      await until(({ type }) => type === 'NodeActionSucceeded');
      await until(({ type, data }) => type === 'NodeActionHookSucceeded' && data.point === 'AfterNodeDrain');
      await system.call('POST', `${path}/nodes/actions`, { action: 'uncordon', select });
      await until(({ type, data }) => type === 'NodeActionSucceeded' && data.action === 'uncordon');
    },
    TIMEOUT_MS,
  );

  it(
    'are signed with their secret, fail without it, and can be skipped once [Cluster API 29]',
    async () => {
      const { body } = await system.call<{ spec: object }>('GET', `${path}/manifest`);
      const hooks = [{ name: 'signed', points: ['BeforeNodeDrain'], url, timeout: '5s', secretName: 'inventory' }];
      const spec = { ...body.spec, hooks };
      const put = await system.call<{ warnings?: readonly string[] }>('PUT', `${path}/manifest`, { ...body, spec });
      const advice = 'Set it with "fairlead hook set-secret inventory"';
      expect([put.status, put.body.warnings]).toEqual([200, [expect.stringContaining(advice)]]);
      const secretsPresent = async () => {
        const { seq } = (await system.events('hooked')).at(-1)!.meta;
        const { body: shown } = await system.call<Shown>('GET', `${path}?minSeq=${seq}`);
        return shown.conditions.find(({ type }) => type === 'HookSecretsPresent');
      };
      expect(await secretsPresent()).toMatchObject({ status: 'False', message: expect.stringContaining(advice) });
      const { body: before } = await system.call<Shown>('GET', path);
      const worker = before.nodes.find(({ role }) => role === 'worker')?.name ?? '';
      const calls = received.length;
      await system.call('POST', `${path}/nodes/actions`, { action: 'drain', select: { nodes: [worker] } });
      await until(({ type, data }) => type === 'NodeActionHookFailed' && data.hook === 'signed');
      expect(received.length).toBe(calls);
      const value = 'k'.repeat(40);
      const wait = { status: 'Success', retryAfterSeconds: 3_600, message: 'not yet' };
      script.set('BeforeNodeDrain', [wait]);
      expect((await system.call('PUT', '/ns/default/hook-secrets/inventory', { value })).status).toBe(200);
      await until(({ type, data }) => type === 'NodeActionHookBlocked' && data.hook === 'signed');
      const { signature, body: sent } = received.at(-1)!;
      const [, time = '', given] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
      expect(given).toBe(createHmac('sha256', value).update(`${time}.${sent}`).digest('hex'));
      await eventually(async () => (await secretsPresent())?.status === 'True');
      const skip = { point: 'BeforeNodeDrain', node: worker, reason: 'it has no data' };
      expect((await system.call('POST', `${path}/hooks/signed/skip`, skip)).status).toBe(200);
      const skipped = await until(({ type, data }) => type === 'HookSkipped' && data.hook === 'signed');
      await until(({ type, meta }) => type === 'NodeActionSucceeded' && meta.seq > skipped.meta.seq);
      expect(JSON.stringify(await system.events('hooked'))).not.toContain(value);
      await system.call('POST', `${path}/nodes/actions`, { action: 'uncordon', select: { nodes: [worker] } });
      await until(({ type, meta }) => type === 'NodeActionUncordoned' && meta.seq > skipped.meta.seq);
    },
    TIMEOUT_MS,
  );

  it(
    'block a drain twice, fail under one policy and not the other, and are called before the cluster is deleted [Cluster API 29]',
    async () => {
      const { body } = await system.call<{ spec: object }>('GET', `${path}/manifest`);
      const points = [
        'BeforeNodeDrain',
        'AfterNodeDrain',
        'BeforeNodeDelete',
        'AfterNodeDelete',
        'BeforeClusterDelete',
        'AfterClusterDelete',
      ];
      const hooks = [
        { name: 'strict', points, url, timeout: '5s' },
        { name: 'lenient', points: ['BeforeNodeDrain'], url: `${url}/lenient`, timeout: '5s', failurePolicy: 'Ignore' },
      ];
      const put = await system.call('PUT', `${path}/manifest`, { ...body, spec: { ...body.spec, hooks } });
      expect(put.status).toBe(200);
      const wait = { status: 'Success', retryAfterSeconds: 1, message: 'a backup runs' };
      script.set('BeforeNodeDrain', [wait, wait, { status: 'Success' }, { silent: true }]);
      script.set('BeforeNodeDelete', [{ silent: true }, { status: 'Success' }]);
      const { body: before } = await system.call<Shown>('GET', path);
      const worker = before.nodes.find(({ role }) => role === 'worker')?.name ?? '';
      expect((await system.call('DELETE', `${path}/nodes/${worker}`)).status).toBe(202);
      const blocked = await until(({ type, data }) => type === 'HookBlocked' && data.point === 'BeforeNodeDrain');
      const shown = await system.call<Shown>('GET', `${path}?minSeq=${blocked.meta.seq}`);
      const condition = shown.body.conditions.find(({ type }) => type === 'HookBlocked');
      expect(condition?.message ?? '').toMatch(
        /paused by hook strict \(BeforeNodeDrain of .*\) since .*: a backup runs \(attempt \d+, next at /,
      );
      await until(({ type }) => type === 'VmDeleted');
      await until(({ type, data }) => type === 'HookSucceeded' && 'point' in data && data.point === 'AfterNodeDelete');
      const ofRemoval = (types: readonly string[]) =>
        types.filter((type) => type.startsWith('Hook') && type !== 'HookSkipped');
      expect(ofRemoval(await ofHooks('BeforeNodeDrain'))).toEqual([
        'HookBlocked',
        'HookBlocked',
        'HookSucceeded',
        'HookFailed',
      ]);
      expect(await ofHooks('BeforeNodeDelete')).toEqual(['HookFailed', 'HookSucceeded']);
      expect(ofRemoval(await ofHooks('AfterNodeDrain'))).toEqual(['HookSucceeded']);
      script.set(
        'AfterClusterDelete',
        Array.from({ length: 1_000 }, () => ({ status: 'Failure', message: 'no' })),
      );
      expect((await system.call('DELETE', path)).status).toBe(202);
      const failed = await until(({ type, data }) => type === 'HookFailed' && data.point === 'AfterClusterDelete');
      const types = (await system.events('hooked')).map(({ type }) => type);
      expect([types.includes('InfrastructureDeleted'), types.includes('ClusterDeleted')]).toEqual([true, false]);
      expect((await system.lab<{ items: readonly object[] }>('GET', '/v1/machines')).body.items).toEqual([]);
      const held = await system.call<Shown>('GET', `${path}?minSeq=${failed.meta.seq}`);
      const why = held.body.conditions.find(({ type }) => type === 'HookBlocked');
      expect(why?.message ?? '').toMatch(
        /paused by hook strict \(AfterClusterDelete\) since .*: no \(attempt \d+, next at /,
      );
      script.set('AfterClusterDelete', []);
      await until(({ type }) => type === 'ClusterDeleted');
      expect(await ofHooks('BeforeClusterDelete')).toEqual(['HookSucceeded']);
      expect((await ofHooks('AfterClusterDelete')).at(-1)).toBe('HookSucceeded');
    },
    TIMEOUT_MS,
  );
});
