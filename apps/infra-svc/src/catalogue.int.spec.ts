import {
  CONNECTIONS_STREAM,
  FIRST_PREVHASH,
  streamSubject,
  type ApplicationName,
  type Fact,
  type StoredEvent,
} from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams, JetStreamStore } from '@fairlead/event-sourcing/jetstream';
import { startService, type RunningService } from '@fairlead/service-kit';
import { eventually, newFolder } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChartServer, chartOf } from './adapters/helm/chart.server.fixtures.js';
import { catalogueStream } from './catalogue/catalogue.decider.js';
import { readSettings } from './config.js';
import { infraService } from './service.js';

const LIMIT_MS = 120_000;
const name = 'grafana' as ApplicationName;
const cause = { actor: 'user/spec', correlationId: 'spec', causationId: 'spec' };

const server = new ChartServer();
const folder = newFolder('catalogue');
let environment: TestEnvironment;
let store: JetStreamStore;
let service: RunningService | undefined;

const start = async (): Promise<void> => {
  const env = {
    NATS_URL: environment.nats.url,
    NATS_CREDS: environment.nats.credsFile('infra-svc'),
    DATABASE_URL: environment.databases['infra-svc'],
    FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
    LOG_LEVEL: 'error',
  };
  const settings = readSettings({ CATALOGUE_ADDRESSES_ALLOWED: '127.0.0.0/8' });
  service = await startService(infraService(settings), env);
};
const say = async (fact: Fact): Promise<void> => {
  const last = (await store.read(`${streamSubject(CONNECTIONS_STREAM)}.>`, 0)).at(-1);
  const position =
    last === undefined
      ? { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH }
      : { seq: last.event.meta.seq, streamVersion: last.event.meta.streamVersion, hash: last.hash };
  await store.append(CONNECTIONS_STREAM, position, [fact], cause);
};
const facts = async (): Promise<readonly StoredEvent[]> =>
  (await store.read(`${streamSubject(catalogueStream(name))}.>`, 0)).map(({ event }) => event);

beforeAll(async () => {
  environment = await testEnvironment();
  writeFileSync(join(folder, 'master.key'), randomBytes(32).toString('base64'));
  const nc = await environment.connect('admin');
  await ensureStreams(nc);
  store = new JetStreamStore({ nc, source: '/gateway', now: () => new Date(), newId: randomUUID });
  await server.start();
  await start();
}, LIMIT_MS);

afterAll(async () => {
  await service?.stop();
  await Promise.all([environment?.stop(), server.stop()]);
  rmSync(folder, { recursive: true });
}, LIMIT_MS);

it(
  'infra-svc downloads an archive once: not for another synchronization, and not after a restart [azimuth 33]',
  async () => {
    const known = await chartOf('{"type":"object"}');
    server.publish({ '8.1.0': known, '7.0.0': await chartOf(undefined) });
    const settings = { repository: server.url, chart: 'grafana', range: '8.x', keep: 5, ca: server.ca };
    await say({
      type: 'ApplicationRegistered',
      data: { name, ...settings, label: '', description: '', icon: '' },
    });
    const stated = await eventually(async () => ((await facts()).length >= 2 ? facts() : undefined));
    expect(stated.map(({ type }) => type)).toEqual(['ApplicationVersionAdded', 'ApplicationSynchronized']);
    await service?.stop();
    await start();
    await say({ type: 'ApplicationSyncRequested', data: { name } });
    await eventually(async () => (server.asked.filter((url) => url === '/index.yaml').length >= 2 ? true : undefined));
    // The work of the second one is done before a version that follows it.
    server.publish({ '8.2.0': await chartOf(undefined), '8.1.0': known });
    await say({ type: 'ApplicationSyncRequested', data: { name } });
    await eventually(async () => ((await facts()).length >= 4 ? true : undefined));
    expect(server.asked.filter((url) => url.endsWith('.tgz'))).toEqual(['/grafana-8.1.0.tgz', '/grafana-8.2.0.tgz']);
    expect((await facts()).map(({ type }) => type)).toEqual([
      'ApplicationVersionAdded',
      'ApplicationSynchronized',
      'ApplicationVersionAdded',
      'ApplicationSynchronized',
    ]);
  },
  LIMIT_MS,
);
