import 'reflect-metadata';
import { TasksProgress, NATS } from '@fairlead/event-sourcing/jetstream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Module, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Alarms } from './alarms.js';
import { HealthHttp } from './health.http.js';
import { LogProgress } from './log.progress.js';
import { ServiceLiveness } from './liveness.js';
import { DATABASE } from './tokens.js';

const MINUTE_MS = 60_000;
const PLACES = 2;

describe('the health of a service, over HTTP', () => {
  let nowMs = 0;
  const jobs = new TasksProgress(() => nowMs);
  let app: INestApplication;
  let base = '';

  const asked = async (path: string): Promise<readonly [number, unknown]> => {
    const answer = await fetch(`${base}${path}`);
    return [answer.status, await answer.json()];
  };

  beforeAll(async () => {
    const well = { report: () => ({}) };
    @Module({
      controllers: [HealthHttp],
      providers: [
        { provide: TasksProgress, useValue: jobs },
        { provide: NATS, useValue: { flush: () => Promise.resolve() } },
        { provide: DATABASE, useValue: { query: () => Promise.resolve() } },
        { provide: LogProgress, useValue: { report: () => 'ok' } },
        { provide: ServiceLiveness, useValue: well },
        { provide: Alarms, useValue: well },
      ],
    })
    class TestModule {}
    jobs.configured({ concurrency: PLACES, longestMs: 60 * MINUTE_MS });
    app = await NestFactory.create(TestModule, { logger: false });
    await app.listen(0, '127.0.0.1');
    base = await app.getUrl();
  });
  afterAll(() => app?.close());

  it('fails at /healthz with a reason if tasks have waited for 10 minutes and none finished, and recovers when one does [ORBITER 32]', async () => {
    for (let place = 0; place < PLACES; place += 1)
      jobs.began(`${place}`, 'EnsureMachines of default/demo', 60 * MINUTE_MS);
    jobs.waiting(1);
    nowMs += 10 * MINUTE_MS - 1;
    expect(await asked('/healthz')).toEqual([200, { status: 'ok' }]);
    nowMs += 1;
    expect(await asked('/healthz')).toEqual([
      503,
      { status: 'stuck', tasks: expect.stringContaining('EnsureMachines of default/demo') },
    ]);
    // A restart may help; removing the replica from load balancing does not.
    expect(await asked('/readyz')).toMatchObject([200, { status: 'ok' }]);
    jobs.ended('0', 'done');
    expect(await asked('/healthz')).toEqual([200, { status: 'ok' }]);
  });
});
