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
    '%s: made again from the log they equal the live ones, while clusters are being built',
    async (service) => {
      const name = `meanwhile-${service.split('-')[0]}`;
      await system.call('POST', '/ns/default/clusters', clusterBody(name, { controlPlanes: 1, workers: 1 }));
      for (const rebuilt of await rebuild(service)) expect(rebuilt).toMatchObject({ equal: true });
      await system.until(name, ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    },
    TIMEOUT_MS,
  );

  it(
    'come back when their rows are dropped',
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
