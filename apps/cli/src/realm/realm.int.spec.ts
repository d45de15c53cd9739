import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RealmView } from '../api/views.js';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type Ran } from '../spec/io.fixtures.js';

const REALMS = '/ns/default/realms';
const REALM = `${REALMS}/company`;
const ISSUER = 'https://id.example.org/realms/team';

const view = (changes: Partial<RealmView> = {}): RealmView => ({
  kind: 'Realm',
  namespace: 'default',
  name: 'company',
  provider: 'keycloak',
  issuerUrl: ISSUER,
  clientId: 'fairlead',
  registeredTime: '2026-11-26T08:00:00.000Z',
  state: 'Ready',
  reason: '',
  message: '',
  changedTime: '2026-11-26T08:00:01.000Z',
  clusters: ['demo'],
  ...changes,
});

let gateway: FakeGateway;
let folder: string;

beforeEach(async () => {
  gateway = new FakeGateway();
  folder = mkdtempSync(join(tmpdir(), 'fairlead-realm-'));
  await gateway.start();
});
afterEach(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

const realm = (...args: readonly string[]): Promise<Ran> => run(['--server', gateway.url, 'realm', ...args]);
const secretFile = (): string => {
  const file = join(folder, 'secret');
  writeFileSync(file, 'sealed-in-the-server\n');
  return file;
};
const register = (...more: readonly string[]): Promise<Ran> =>
  realm('register', 'company', '--issuer', ISSUER, '--client-id', 'fairlead', ...more);

describe('realm get-secret', () => {
  const CREDENTIAL = `${REALM}/credential`;

  it('prints the secret alone, as a file needs it, and with -o json also the client', async () => {
    const body = { kind: 'RealmCredential', name: 'company', clientId: 'fairlead', clientSecret: 's3cret' };
    gateway.on('GET', CREDENTIAL, { body });
    expect(await realm('get-secret', 'company')).toMatchObject({ code: 0, stdout: 's3cret\n', stderr: '' });
    expect(JSON.parse((await realm('get-secret', 'company', '-o', 'json')).stdout)).toEqual({
      ...{ name: 'company', clientId: 'fairlead', clientSecret: 's3cret' },
    });
  });

  it('ends with 4 for a user who may not read it', async () => {
    gateway.on('GET', CREDENTIAL, refusal(403, 'auth.role-missing', 'You need the role admin.'));
    expect(await realm('get-secret', 'company')).toMatchObject({ code: 4, stdout: '' });
  });
});

describe('fairlead realm', () => {
  it('register sends the secret from a file, waits until the realm is ready, and never prints the secret', async () => {
    gateway.on('PUT', REALM, { body: view({ state: 'Unknown', changedTime: null }) });
    gateway.on('GET', REALM, { body: view() });
    const { code, stdout, stderr } = await register('--secret-file', secretFile());
    expect([code, gateway.asked('PUT', REALM)[0]?.body]).toEqual([
      0,
      { provider: 'keycloak', issuerUrl: ISSUER, clientId: 'fairlead', clientSecret: 'sealed-in-the-server' },
    ]);
    expect(stdout).toContain('ready');
    expect(stdout + stderr).not.toContain('sealed-in-the-server');
  });

  it('register prints why a realm is not ready, and exits at once with --no-wait', async () => {
    const message = 'realm company: POST /token answers 401 (unauthorized_client) to the client fairlead';
    gateway.on('PUT', REALM, { body: view({ state: 'Unknown', changedTime: null }) });
    gateway.on('GET', REALM, { body: view({ state: 'NotReady', reason: 'CredentialRefused', message }) });
    const { code, stderr } = await register('--secret-file', secretFile());
    expect([code === 0, stderr.includes(message)]).toEqual([false, true]);
    const unwaited = await register('--no-wait');
    expect([unwaited.code, gateway.asked('PUT', REALM)[1]?.body]).toEqual([
      0,
      { provider: 'keycloak', issuerUrl: ISSUER, clientId: 'fairlead' },
    ]);
  });

  it('register has a realm created, and describe says what it has then', async () => {
    const made = view({ create: true, usersGroup: '/platform-users' });
    gateway.on('PUT', REALM, { body: made });
    gateway.on('GET', REALM, { body: made });
    await register('--secret-file', secretFile(), '--create', '--users-group', '/staff');
    expect(gateway.asked('PUT', REALM)[0]?.body).toMatchObject({ create: true, usersGroup: '/staff' });
    const { stdout } = await realm('describe', 'company');
    expect(stdout).toContain('created by Fairlead');
    expect(stdout).toContain('group /platform-users');
  });

  it('list and describe print the states of realms, as text and as JSON', async () => {
    const items = [view(), view({ name: 'other', state: 'NotReady', reason: 'RealmUnreachable', message: 'away' })];
    gateway.on('GET', REALMS, { body: { kind: 'RealmList', items } });
    gateway.on('GET', REALM, { body: view() });
    const { stdout } = await realm('list');
    expect(stdout).toMatch(/company .* ready\n/);
    expect(stdout).toContain('not ready (RealmUnreachable)');
    expect(JSON.parse((await realm('list', '--output', 'json')).stdout)).toEqual(items);
    expect((await realm('describe', 'company')).stdout).toMatch(/Clusters\n {2}demo/);
    expect(JSON.parse((await realm('describe', 'company', '--output', 'json')).stdout)).toEqual(view());
  });

  it('delete prints a refusal with the clusters, and forces only on request', async () => {
    const refusal = { kind: 'Status', reason: 'realm.in-use', message: "The realm 'company' is used by demo" };
    gateway.on('DELETE', REALM, ({ query }) =>
      query['force'] === 'true' ? { body: { kind: 'Status', code: 200, message: '' } } : { status: 409, body: refusal },
    );
    const refused = await realm('delete', 'company', '--yes');
    expect([refused.code === 0, refused.stderr.includes('demo')]).toEqual([false, true]);
    expect((await realm('delete', 'company', '--force', '--yes')).code).toBe(0);
  });

  it('has completion for its names', async () => {
    gateway.on('GET', REALMS, { body: { kind: 'RealmList', items: [view()] } });
    const env = { FAIRLEAD_SERVER: gateway.url };
    expect((await run(['__complete', '--', 'realm', 'describe', ''], fakeIo({ env }))).stdout).toBe('company\n');
  });
});
