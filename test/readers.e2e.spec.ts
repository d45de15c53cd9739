import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { kubernetesUserOf } from '@fairlead/contracts';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { clusterBody, SERVICE_NAMES, startSystem, type ApiResponse, type System } from './system/system.js';

const TIMEOUT_MS = 120_000;
const CLUSTER = '/ns/default/clusters/demo';
const HOUR_MS = 3_600_000;

interface Reader {
  readonly id: string;
  readonly token: string;
}

interface Credential {
  readonly server: string;
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

const credentialIn = (kubeconfig: string): Credential => {
  const field = (name: string): string => new RegExp(`${name}: (\\S+)`).exec(kubeconfig)?.[1] ?? '';
  const pem = (name: string): string => Buffer.from(field(name), 'base64').toString('latin1');
  return {
    server: field('server'),
    ca: pem('certificate-authority-data'),
    certificate: pem('client-certificate-data'),
    key: pem('client-key-data'),
  };
};

interface ApiAnswer {
  readonly status: number;
  readonly body: { readonly message?: string; readonly status?: { readonly userInfo?: unknown }; items?: unknown[] };
}

/** Like kubectl: only with the certificate of a kubeconfig. */
const askApi = ({ server, ca, certificate, key }: Credential, path: string, body?: object): Promise<ApiAnswer> =>
  new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const headers = { 'content-type': 'application/json' };
    const sent = request(
      new URL(path, server),
      { method, headers, ca, cert: certificate, key, agent: false },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });

const whoami = (credential: Credential): Promise<ApiAnswer> =>
  askApi(credential, '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
  });

const rowsOf = async (connectionString: string): Promise<string> => {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const found = await Promise.all(
      tables.rows.map(
        async ({ name }) => (await client.query<{ row: string }>(`select t::text as row from ${name} t`)).rows,
      ),
    );
    return found.flatMap((rows) => rows.map(({ row }) => row)).join('\n');
  } finally {
    await client.end();
  }
};

const streamsOf = async (system: System): Promise<string> => {
  const { streams } = await jetstreamManager(system.admin);
  const found: string[] = [];
  for await (const { config, state } of streams.list())
    for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq += 1) {
      const message = await streams.getMessage(config.name, { seq });
      if (message !== null) found.push(message.subject, Buffer.from(message.data).toString('latin1'));
    }
  return found.join('\n');
};

/** The whole product; the cluster's API is the simulated one, over real TLS. */
describe('kubeconfigs of operators', () => {
  let system: System;
  let alice: Reader;
  let bob: Reader;
  let viewer: Reader;
  const given: string[] = [];

  const tokenFor = async (name: string, role: string): Promise<Reader> =>
    (await system.call<Reader>('POST', '/tokens', { name, roles: [{ namespace: 'default', role }] })).body;

  const as = async (reader: Reader, path: string): Promise<ApiResponse<string>> => {
    const answer = await system.call<string>('GET', path, undefined, { authorization: `Bearer ${reader.token}` });
    if (answer.status === 200 && typeof answer.body === 'string') given.push(answer.body);
    return answer;
  };

  beforeAll(async () => {
    system = await startSystem({ env: { LOG_LEVEL: 'debug' } });
    await system.call('POST', '/ns/default/clusters', clusterBody('demo', { controlPlanes: 1, workers: 1 }));
    await system.until('demo', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    [alice, bob] = [await tokenFor('alice', 'operator'), await tokenFor('bob', 'operator')];
    viewer = await tokenFor('eve', 'viewer');
  }, 300_000);
  afterAll(() => system?.stop(), 60_000);

  it('name each operator by the token, both in the API and in the log, and grant full access', async () => {
    for (const reader of [alice, bob]) {
      const { status, headers, body } = await as(reader, `${CLUSTER}/kubeconfig`);
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
      const user = kubernetesUserOf(reader.id);
      const credential = credentialIn(body);
      const certificate = new X509Certificate(credential.certificate);
      expect(certificate.subject).toBe(`O=fairlead:operators\nCN=${user}`);
      const leftMs = Date.parse(certificate.validTo) - Date.now();
      expect(leftMs > 7 * HOUR_MS && leftMs <= 8 * HOUR_MS).toBe(true);
      expect((await whoami(credential)).body.status?.userInfo).toEqual({
        username: user,
        groups: ['fairlead:operators', 'system:authenticated'],
      });
      expect((await askApi(credential, '/api/v1/nodes')).body.items).toHaveLength(2);
      const requested = (await system.events('demo')).filter(({ type }) => type === 'KubeconfigRequested').at(-1);
      expect(requested).toMatchObject({ meta: { actor: expect.stringMatching(`#${reader.id}$`) }, data: { user } });
    }
  });

  it('are valid for the requested time, between ten minutes and a day', async () => {
    const { body } = await as(alice, `${CLUSTER}/kubeconfig?ttlSeconds=600`);
    const { validTo } = new X509Certificate(credentialIn(body).certificate);
    expect(Date.parse(validTo) - Date.now()).toBeLessThanOrEqual(600_000);
    for (const ttl of [599, 86_401, 'x'])
      expect((await as(alice, `${CLUSTER}/kubeconfig?ttlSeconds=${ttl}`)).status).toBe(400);
  });

  it('grant nothing while the group is not bound, until the next one is issued', async () => {
    const credential = credentialIn((await as(alice, `${CLUSTER}/kubeconfig`)).body);
    const administrator = await system.call<string>('GET', `${CLUSTER}/kubeconfig/administrator`);
    expect(administrator.status).toBe(200);
    const admin = credentialIn(administrator.body);
    const binding = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/fairlead:operators';
    const deleted = await new Promise<number>((resolve, reject) => {
      const { ca, certificate: cert, key } = admin;
      request(new URL(binding, admin.server), { method: 'DELETE', ca, cert, key, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      })
        .on('error', reject)
        .end();
    });
    expect(deleted).toBe(200);
    expect((await askApi(credential, '/api/v1/nodes')).status).toBe(403);
    await as(bob, `${CLUSTER}/kubeconfig`);
    expect((await askApi(credential, '/api/v1/nodes')).status).toBe(200);
  });

  it("are for operators: a viewer gets none by any route, and only administrators of all namespaces the administrator's", async () => {
    for (const path of [`${CLUSTER}/kubeconfig`, `${CLUSTER}/kubeconfig/administrator`])
      expect((await as(viewer, path)).status).toBe(403);
    expect((await as(alice, `${CLUSTER}/kubeconfig/administrator`)).status).toBe(403);
    expect(JSON.stringify((await as(viewer, `/ladybug${CLUSTER}`)).body)).not.toContain('clusterConfig');
    const reads = (await system.events('demo')).filter(({ type }) => type === 'KubeconfigRead');
    expect(reads).toHaveLength(1);
  });

  it("are below CB-Ladybug's base the operator's own, and reused while half of the lifetime is left", async () => {
    const configOf = async (path: string): Promise<string> => {
      const { body } = await system.call<{ clusterConfig: string; items?: { clusterConfig: string }[] }>(
        ...(['GET', path, undefined, { authorization: `Bearer ${bob.token}` }] as const),
      );
      return body.items?.[0]?.clusterConfig ?? body.clusterConfig;
    };
    const before = (await system.events('demo')).length;
    const first = await configOf(`/ladybug${CLUSTER}`);
    given.push(first);
    expect(new X509Certificate(credentialIn(first).certificate).subject).toContain(kubernetesUserOf(bob.id));
    expect(await configOf(`/ladybug${CLUSTER}`)).toBe(first);
    expect(await configOf('/ladybug/ns/default/clusters')).toBe(first);
    const events = (await system.events('demo')).slice(before).map(({ type }) => type);
    expect(events.filter((type) => type === 'KubeconfigRequested').length).toBeLessThanOrEqual(1);
  });

  it('are sealed once for each operator, and their keys are in no stream, table or log file [ORBITER 28]', async () => {
    const keys = given.flatMap((text) => {
      const { key } = credentialIn(text);
      // The secret number itself, in every encoding.
      const { d = '' } = createPrivateKey(key).export({ format: 'jwk' });
      const raw = Buffer.from(d, 'base64url');
      return [key.split('\n')[1] ?? '', Buffer.from(key).toString('base64').slice(40, 120), d, raw.toString('hex')];
    });
    expect(keys.length).toBeGreaterThan(20);
    await system.until('demo', ({ type }) => type === 'KubeconfigRemoved', 20_000);
    const texts = [
      await streamsOf(system),
      ...(await Promise.all(SERVICE_NAMES.map((name) => rowsOf(system.environment.databases[name])))),
      ...readdirSync(join(system.environment.dataDir, 'logs')).map((file) =>
        readFileSync(join(system.environment.dataDir, 'logs', file), 'utf8'),
      ),
    ];
    expect(texts[0]).toContain('KubeconfigIssued');
    for (const text of texts) for (const key of keys) expect(text.includes(key)).toBe(false);
    const log = await system.events('demo');
    const count = (type: string): number => log.filter((event) => event.type === type).length;
    expect(count('KubeconfigIssued') - count('KubeconfigRemoved')).toBeLessThanOrEqual(3);
    expect(count('KubeconfigIssued')).toBe(count('KubeconfigRequested'));
  }, 60_000);
});
