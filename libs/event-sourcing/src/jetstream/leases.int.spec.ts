import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { Leases } from './leases.js';

describe('the leases of a replica', () => {
  let environment: TestEnvironment;
  let database: pg.Client;
  let leases: Leases;
  const said: string[] = [];

  beforeAll(async () => {
    environment = await testEnvironment();
    const databaseUrl = environment.databases['bootstrap-svc'];
    database = new pg.Client({ connectionString: databaseUrl });
    await database.connect();
    const say = (message: string): void => void said.push(message);
    leases = new Leases({
      databaseUrl,
      log: { log: say, warn: say, error: say },
      onGained: () => undefined,
      onReleased: () => Promise.resolve(),
    });
    leases.start();
    await eventually(() => leases.owned.size === 16);
  }, 60_000);

  afterAll(async () => {
    await leases?.stop();
    await database?.end();
    await environment?.stop();
  });

  it('are all dropped, and reacquired, if the session ends while one is released', async () => {
    const ended = database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'fairlead-leases'",
    );
    const given: Promise<void>[] = [];
    // Until the end of the session is noticed, a release fails on it.
    while (leases.owned.size === 16 || given.length < 3) {
      const [partition] = [...leases.owned];
      if (partition !== undefined) given.push(leases.lost(partition));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ended;
    await expect(Promise.all(given)).resolves.toBeDefined();
    await eventually(() => leases.owned.size === 16);
  });
});
