import { eventually } from '@fairlead/testing';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { KERNEL_MIGRATIONS } from './kernel.migration.js';
import { PostgresLeases } from './postgres.leases.js';

describe('leases of tasks, as rows', () => {
  let environment: TestEnvironment;
  let pool: pg.Pool;

  const replica = (): PostgresLeases => new PostgresLeases(pool, { warn: () => undefined });

  beforeAll(async () => {
    environment = await testEnvironment();
    const url = environment.databases['bootstrap-svc'] ?? '';
    const database = new DataSource({ type: 'postgres', url, migrations: [...KERNEL_MIGRATIONS] });
    await database.initialize();
    await database.runMigrations();
    await database.destroy();
    pool = new pg.Pool({ connectionString: url });
    pool.on('error', () => undefined); // The server closes idle connections when it stops.
  }, 60_000);

  beforeEach(() => pool.query('delete from task_leases'));

  afterAll(async () => {
    await pool?.end();
    await environment?.stop();
  }, 30_000);

  it('a lease has one holder at a time, and can be acquired again after its release', async () => {
    const [one, other] = [replica(), replica()];
    const lease = await one.acquire('default/demo', 'InitControlPlane/cp-1');
    expect(lease).toBeDefined();
    expect(await other.acquire('default/demo', 'InitControlPlane/cp-1')).toBeUndefined();
    const another = await other.acquire('default/demo', 'VerifyNode/cp-1');
    expect(another).toBeDefined();
    await lease?.release();
    await one.stop();
    const again = await other.acquire('default/demo', 'InitControlPlane/cp-1');
    expect(again).toBeDefined();
    await Promise.all([another?.release(), again?.release()]);
  });

  it('a released one is taken over by the next task of the same replica, and otherwise freed a moment later', async () => {
    const [one, other] = [replica(), replica()];
    await (await one.acquire('s', 'task'))?.release();
    const holderOf = async () => (await pool.query('select holder from task_leases')).rows;
    const before = await holderOf();
    expect([before.length, await one.held('s')]).toEqual([1, []]);
    const next = await one.acquire('s', 'task');
    expect([await holderOf(), await one.held('s')]).toEqual([before, ['task']]);
    expect(await one.acquire('s', 'task')).toBeUndefined();
    await next?.release();
    await eventually(async () => (await other.acquire('s', 'task')) !== undefined);
  });

  it('of many concurrent requests for one lease exactly one succeeds', async () => {
    const [one, other] = [replica(), replica()];
    const asked = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? one : other).acquire('s', 'task'));
    const got = (await Promise.all(asked)).filter((lease) => lease !== undefined);
    expect(got).toHaveLength(1);
    await got[0]?.release();
  });

  it('one that was not renewed has expired, and its former holder does not affect the next one', async () => {
    const leases = replica();
    const first = await leases.acquire('s', 'task');
    await pool.query("update task_leases set until = now() - interval '1 second'");
    expect(await leases.held('s')).toEqual([]);
    const second = await leases.acquire('s', 'task');
    expect(second).toBeDefined();
    await first?.release();
    expect(await leases.held('s')).toEqual(['task']);
    await second?.release();
  });

  it('a holder whose lease another replica has taken is notified at the next renewal', async () => {
    const lease = await replica().acquire('s', 'task');
    await pool.query("update task_leases set holder = 'another replica', until = now() + interval '1 minute'");
    const lost = new Promise<void>((resolve) => lease?.signal.addEventListener('abort', () => resolve()));
    await lost;
    await lease?.release();
    expect(await replica().held('s')).toEqual(['task']);
  }, 60_000);

  it('names belong to one scope', async () => {
    const leases = replica();
    const held = await Promise.all([
      leases.acquire('u', 'one'),
      leases.acquire('u', 'two'),
      leases.acquire('v', 'three'),
    ]);
    expect(await leases.held('u')).toEqual(['one', 'two']);
    await Promise.all(held.map(async (lease) => lease?.release()));
  });
});
