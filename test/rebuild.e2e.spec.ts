import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { clusterBody, programOf, SERVICE_NAMES, startSystem, type System } from './system/system.js';

const run = promisify(execFile);
const TIMEOUT_MS = 180_000;

interface Rebuilt {
  readonly projection: string;
  readonly rows: number;
  readonly digest: string;
  readonly equal: boolean;
}

interface Listed {
  readonly items: readonly { readonly name: string; readonly role: string }[];
}

const ONE_WORKER = { worker: [{ connection: 'lab', count: 1, spec: 'lab.medium' }] };
const nameOf = (data: object): unknown => (data as { readonly name?: unknown }).name;

describe('the projections of every service', () => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem({ light: true });
    for (let index = 0; index < 5; index += 1) {
      await system.call(
        'POST',
        '/ns/default/clusters',
        clusterBody(`built-${index}`, { controlPlanes: 1, workers: 2 }),
      );
    }
    await system.until('built-0', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  const rebuild = async (service: (typeof SERVICE_NAMES)[number]): Promise<Rebuilt[]> => {
    const { entry, env } = programOf(system, service);
    const { stdout } = await run(process.execPath, [entry, 'rebuild'], { env, timeout: 60_000 });
    return stdout
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Rebuilt);
  };

  it.each(SERVICE_NAMES)(
    '%s: rebuilt from the log they equal the live ones, while clusters are being created',
    async (service) => {
      const name = `meanwhile-${service.split('-')[0]}`;
      await system.call('POST', '/ns/default/clusters', clusterBody(name, { controlPlanes: 1, workers: 1 }));
      for (const rebuilt of await rebuild(service)) expect(rebuilt).toMatchObject({ equal: true });
      await system.until(name, ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    },
    TIMEOUT_MS,
  );

  it(
    'lack a node that left while their service was down, and equal the log as before; another cluster is unchanged [azimuth 27]',
    async () => {
      const read = (path: string) => system.call<Listed>('GET', `/ns/default/clusters/${path}`);
      await system.until('built-1', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
      await system.until('built-2', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
      const untouched = (await read('built-2')).body;
      for (const [index, service] of SERVICE_NAMES.entries()) {
        const added = await system.call<Listed>('POST', '/ns/default/clusters/built-1/nodes', ONE_WORKER);
        expect([service, added.status]).toEqual([service, 202]);
        const since = (await system.events('built-1')).at(-1)?.meta.seq ?? 0;
        const ready = await system.until('built-1', (e) => e.type === 'ClusterReady' && e.meta.seq > since, TIMEOUT_MS);
        const node = (await read(`built-1/nodes?minSeq=${ready.meta.seq}`)).body.items.findLast(
          ({ role }) => role === 'worker',
        )?.name;
        expect(node).toBeDefined();
        // The gateway accepts the request before it is killed; the others are down when it is made.
        if (service !== 'gateway') await system.supervisor.hold(service, 'SIGKILL');
        expect((await system.call('DELETE', `/ns/default/clusters/built-1/nodes/${node}`)).status).toBe(202);
        if (service === 'gateway') await system.supervisor.hold(service, 'SIGKILL');
        const left = system.until(
          'built-1',
          ({ type, data }) => type === 'VmDeleted' && nameOf(data) === node,
          TIMEOUT_MS,
        );
        if (service === 'gateway') await left;
        await system.supervisor.resume(service);
        const { meta } = await left;
        const names = (await read(`built-1/nodes?minSeq=${meta.seq}`)).body.items.map(({ name }) => name);
        expect([index, names.includes(node ?? '')]).toEqual([index, false]);
        for (const rebuilt of await rebuild(service)) expect(rebuilt).toMatchObject({ equal: true });
      }
      expect((await read('built-2')).body).toEqual(untouched);
    },
    TIMEOUT_MS,
  );

  it(
    'are restored when their rows are deleted',
    async () => {
      await Promise.all(
        [1, 2, 3, 4].map((index) => system.until(`built-${index}`, ({ type }) => type === 'ClusterReady', TIMEOUT_MS)),
      );
      const before = await rebuild('gateway');
      const database = new pg.Client({ connectionString: system.environment.databases.gateway });
      await database.connect();
      await database.query('truncate clusters, nodes');
      expect((await system.call<{ items: unknown[] }>('GET', '/ns/default/clusters')).body.items).toEqual([]);
      const after = await rebuild('gateway');
      await database.end();
      expect(after.map(({ projection, digest }) => [projection, digest])).toEqual(
        before.map(({ projection, digest }) => [projection, digest]),
      );
      expect(
        (await system.call<{ items: unknown[] }>('GET', '/ns/default/clusters')).body.items.length,
      ).toBeGreaterThanOrEqual(5);
    },
    TIMEOUT_MS,
  );
});
