import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import pg from 'pg';
import { clusterBody, SERVICE_NAMES, startSystem, type System } from './system/system.js';

const CANARY = 'canary7f3a91secret';
/** In every encoding. */
const TRACES = [CANARY, Buffer.from(CANARY).toString('hex'), Buffer.from(CANARY).toString('base64').slice(0, 20)];
const CREATE_TIMEOUT_MS = 120_000;

const HEADERS = {
  cookie: `session=${CANARY}`,
  'proxy-authorization': `Basic ${CANARY}`,
  'x-api-key': CANARY,
  'x-auth-token': CANARY,
  'user-agent': CANARY,
  referer: `http://user:${CANARY}@127.0.0.1/`,
};

interface Attempt {
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly accepted: boolean;
}

/** Every place in which a client can put a secret, right or wrong. */
const attempts = (endpoint: string): readonly Attempt[] => {
  const lab = (settings: Readonly<Record<string, unknown>>, more = {}): Attempt['body'] => ({
    provider: 'lab',
    region: 'lab-1',
    settings: { endpoint, ...settings },
    ...more,
  });
  const misplaced = ['apiKey', 'auth', 'passphrase', 'pwd', 'bearer', 'userData', 'password', 'x'].map((name) => ({
    name: 'misplaced',
    body: lab({ [name]: CANARY }),
    accepted: false,
  }));
  return [
    { name: 'by-token', body: lab({ token: CANARY }), accepted: true },
    { name: 'by-secret', body: lab({ secret: CANARY }), accepted: true },
    {
      name: 'by-key',
      body: {
        provider: 'ssh',
        settings: { hosts: [{ name: 'h-1', address: '127.0.0.77', port: 9 }], secret: `-----BEGIN ${CANARY}` },
      },
      accepted: true,
    },
    {
      name: 'by-further-key',
      body: {
        provider: 'ssh',
        settings: {
          hosts: [{ name: 'h-1', address: '127.0.0.78', port: 9, keyRef: 'gateway.connection.by-further-key.deep' }],
          secret: CANARY,
          keys: { deep: CANARY },
        },
      },
      accepted: true,
    },
    ...misplaced,
    { name: 'nested', body: lab({ auth: { inner: [{ value: CANARY }] } }), accepted: false },
    { name: 'in-url', body: lab({ endpoint: endpoint.replace('//', `//user:${CANARY}@`) }), accepted: false },
    { name: 'in-query', body: lab({ endpoint: `${endpoint}/?key=${CANARY}` }), accepted: false },
    { name: 'beside', body: lab({}, { apiKey: CANARY }), accepted: false },
    { name: 'by-number', body: lab({ token: [CANARY] }), accepted: false },
  ];
};

const streamsOf = async (manager: JetStreamManager): Promise<string> => {
  const found: string[] = [];
  for await (const { config, state } of manager.streams.list())
    for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq += 1) {
      const message = await manager.streams.getMessage(config.name, { seq });
      if (message !== null) found.push(message.subject, Buffer.from(message.data).toString('latin1'));
    }
  return found.join('\n');
};

const rowsOf = async (connectionString: string): Promise<string> => {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const found: string[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
      found.push(name, ...rows.map(({ row }) => row));
    }
    return found.join('\n');
  } finally {
    await client.end();
  }
};

const logsOf = (dataDir: string): string =>
  readdirSync(join(dataDir, 'logs'))
    .map((file) => readFileSync(join(dataDir, 'logs', file), 'utf8'))
    .join('\n');

describe('a secret sent by a client', () => {
  let system: System;
  const answers: string[] = [];

  beforeAll(async () => {
    system = await startSystem({ env: { LOG_LEVEL: 'debug' } });
    const { body } = await system.call<{ settings: { endpoint: string } }>('GET', '/connections/lab');
    for (const { name, body: sent, accepted } of attempts(body.settings.endpoint)) {
      const answer = await system.call('PUT', `/connections/${name}`, sent, HEADERS);
      expect([name, answer.status < 300]).toEqual([name, accepted]);
      answers.push(JSON.stringify([answer.body, [...answer.headers]]));
    }
    await system.call('POST', '/ns/default/clusters', clusterBody('demo', { controlPlanes: 1, workers: 1 }), HEADERS);
    await system.until('demo', ({ type }) => /^Cluster(Ready|Failed)$/.test(type), CREATE_TIMEOUT_MS);
    const refused = await system.call('POST', '/ns/default/clusters', { name: 'x', apiKey: CANARY }, HEADERS);
    answers.push(JSON.stringify(refused.body));
    for (const path of [
      '/connections',
      '/connections/by-token',
      '/connections/by-key',
      '/events?limit=5000',
      '/tokens',
    ])
      answers.push(JSON.stringify((await system.call('GET', path, undefined, HEADERS)).body));
  }, 300_000);

  afterAll(() => system?.stop(), 60_000);

  const nowhereIn = (text: string): void => {
    expect(text.length).toBeGreaterThan(0);
    for (const trace of [...TRACES, system.token]) expect(text.includes(trace)).toBe(false);
  };

  it('is in no response of the API', () => nowhereIn(answers.join('\n')));

  it('is in no message of any stream, including the log and the sealed secrets [ORBITER 28]', async () => {
    const text = await streamsOf(await jetstreamManager(system.admin));
    expect(text).toContain('ConnectionRegistered');
    nowhereIn(text);
  }, 60_000);

  it.each(SERVICE_NAMES)('is in no table of %s', async (service) => {
    const text = await rowsOf(system.environment.databases[service]);
    if (service === 'gateway') expect(text).toContain('by-token');
    nowhereIn(text);
  });

  it('is in no log file of any service at the level debug [ORBITER 28]', () => {
    const text = logsOf(system.environment.dataDir);
    expect(text).toContain('FAIRLEAD READY gateway');
    nowhereIn(text);
  });

  it('is in no metric of any service', async () => {
    const ports = [...logsOf(system.environment.dataDir).matchAll(/FAIRLEAD READY (\S+-svc|gateway) (\d+)/g)];
    expect(new Set(ports.map(([, name]) => name))).toEqual(new Set(SERVICE_NAMES));
    for (const [, , port] of ports) nowhereIn(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
  });
});
