import { request } from 'node:https';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { clusterBody, SERVICE_NAMES, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 120_000;
const PROBE_TIMEOUT_MS = 5_000;

interface View {
  readonly endpoint: string;
  readonly status: { readonly phase: string };
}

/** The status returned by the API server of a cluster; undefined: no answer. */
const readyz = (endpoint: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    const asked = request(`${endpoint}/readyz`, { rejectUnauthorized: false, timeout: PROBE_TIMEOUT_MS }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode));
    });
    asked.once('timeout', () => asked.destroy(new Error('no answer')));
    asked.once('error', () => resolve(undefined));
    asked.end();
  });

/** As if PostgreSQL's disk was lost, and an empty database was provided. */
const empty = async (connectionString: string): Promise<number> => {
  const database = new pg.Client({ connectionString });
  await database.connect();
  try {
    const { rows } = await database.query<{ name: string }>(
      "select quote_ident(tablename) as name from pg_tables where schemaname = 'public'",
    );
    for (const { name } of rows) await database.query(`drop table ${name} cascade`);
    return rows.length;
  } finally {
    await database.end();
  }
};

describe('Fairlead with only its log and its keys left', () => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem({ light: true });
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'is rebuilt from the log while its clusters run: it shows the same as before, opens to the same tokens, and creates no machine twice [ORBITER 29]',
    async () => {
      const read = async (name: string): Promise<View> =>
        (await system.call<View>('GET', `/ns/default/clusters/${name}`)).body;
      const tokenOf = async (name: string): Promise<{ readonly id: string; readonly token: string }> => {
        const roles = [{ namespace: 'default', role: 'viewer' }];
        return (await system.call<{ id: string; token: string }>('POST', '/tokens', { name, roles })).body;
      };
      const statusWith = async (token: string): Promise<number> =>
        (await system.call('GET', '/ns/default/clusters', undefined, { authorization: `Bearer ${token}` })).status;
      const create = (name: string, controlPlanes: number, workers: number) =>
        system.call('POST', '/ns/default/clusters', clusterBody(name, { controlPlanes, workers }));
      await create('built', 1, 2);
      await system.until('built', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
      await create('growing', 3, 2);
      await system.until('growing', ({ type }) => type === 'ControlPlaneInitialized', TIMEOUT_MS);
      const built = await read('built');
      const [kept, revoked] = [await tokenOf('kept'), await tokenOf('revoked')];
      expect((await system.call('DELETE', `/tokens/${revoked.id}`)).status).toBe(200);

      await Promise.all(SERVICE_NAMES.map((service) => system.supervisor.hold(service, 'SIGKILL')));
      for (const service of SERVICE_NAMES)
        expect([service, (await empty(system.environment.databases[service])) > 0]).toEqual([service, true]);
      await system.environment.killNats();
      expect(await readyz(built.endpoint)).toBe(200);
      await system.environment.startNats();
      await Promise.all(SERVICE_NAMES.map((service) => system.supervisor.resume(service)));
      expect(await readyz(built.endpoint)).toBe(200);

      await system.until('growing', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
      expect(await read('built')).toEqual(built);
      await eventually(
        () => statusWith(kept.token),
        (status) => status === 200,
        { withinMs: TIMEOUT_MS },
      );
      expect(await statusWith(revoked.token)).toBe(401);
      expect([(await system.made())['machine'], (await system.standing())['machines']]).toEqual([8, 8]);

      const more = { worker: [{ connection: 'lab', count: 1, spec: 'lab.medium' }] };
      expect((await system.call('POST', '/ns/default/clusters/built/nodes', more)).status).toBe(202);
      const since = (await system.events('built')).at(-1)?.meta.seq ?? 0;
      await system.until('built', ({ type, meta }) => type === 'ClusterReady' && meta.seq > since, TIMEOUT_MS);
      expect([(await system.made())['machine'], (await system.standing())['machines']]).toEqual([9, 9]);
      const twice = (await system.events('growing')).filter(({ type }) => type === 'ControlPlaneInitialized');
      expect(twice).toHaveLength(1);
    },
    TIMEOUT_MS * 2,
  );
});
