import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { RunningSteps1700000000001 } from '../../migrations/1700000000001-running-steps.js';
import { PostgresRunningSteps } from './postgres.running-steps.js';

describe('steps that run, as rows', () => {
  let environment: TestEnvironment;
  let database: DataSource;

  beforeAll(async () => {
    environment = await testEnvironment();
    database = new DataSource({
      type: 'postgres',
      url: environment.databases['bootstrap-svc'],
      migrations: [RunningSteps1700000000001],
    });
    await database.initialize();
    await database.runMigrations();
  }, 60_000);

  beforeEach(() => database.query('delete from running_steps'));

  afterAll(async () => {
    await database?.destroy();
    await environment?.stop();
  }, 30_000);

  it('a step is held by one at a time, and can be held again when it was given back', async () => {
    const one = new PostgresRunningSteps(database);
    const other = new PostgresRunningSteps(database);
    expect(await one.hold('u', 'InitControlPlane/cp-1', 'a')).toBe(true);
    expect(await other.hold('u', 'InitControlPlane/cp-1', 'b')).toBe(false);
    expect(await other.hold('u', 'VerifyNode/cp-1', 'c')).toBe(true);
    await one.release('u', 'InitControlPlane/cp-1', 'a');
    expect(await other.hold('u', 'InitControlPlane/cp-1', 'b')).toBe(true);
  });

  it('of many that ask for one step at the same time exactly one gets it', async () => {
    const one = new PostgresRunningSteps(database);
    const other = new PostgresRunningSteps(database);
    const asked = Array.from({ length: 100 }, (_, index) =>
      (index % 2 === 0 ? one : other).hold('u', 'step', `h${index}`),
    );
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
  });

  it('what was not renewed has ended', async () => {
    const steps = new PostgresRunningSteps(database);
    expect(await steps.hold('u', 'step', 'a')).toBe(true);
    await database.query("update running_steps set until = now() - interval '1 second'");
    expect(await steps.others('u', 'another')).toEqual([]);
    expect(await steps.hold('u', 'step', 'b')).toBe(true);
    await steps.release('u', 'step', 'a');
    expect(await steps.others('u', 'another')).toEqual(['step']);
  });

  it('others are those of the same cluster, but for the one that asks', async () => {
    const steps = new PostgresRunningSteps(database);
    await Promise.all([steps.hold('u', 'one', 'a'), steps.hold('u', 'two', 'b'), steps.hold('v', 'three', 'c')]);
    expect(await steps.others('u', 'one')).toEqual(['two']);
  });
});
