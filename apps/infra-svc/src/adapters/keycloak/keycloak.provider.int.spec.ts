import { startTestIdentity, type TestIdentity } from '@fairlead/lab/testing/identity';
import { CheckedHttp, parseRanges, type HttpAnswer, type HttpRequest } from '@fairlead/service-kit/http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DesiredIdentity, RealmAccess } from '../../realms/realm.ports.js';
import type { RealmHttp } from './keycloak.client.js';
import { keycloak } from './keycloak.provider.js';

const LOOPBACK = '127.0.0.0/8';
const checked = (allowed = LOOPBACK): RealmHttp =>
  new CheckedHttp({ allowed: parseRanges(allowed).ranges, setting: 'REALM_ADDRESSES_ALLOWED' });
const { signal } = new AbortController();

let identity: TestIdentity;
let access: RealmAccess;

beforeAll(async () => {
  identity = await startTestIdentity();
  const { issuerUrl, ca, clientId, clientSecret } = identity;
  access = { name: 'company', provider: 'keycloak', issuerUrl, ca, clientId, clientSecret };
});
afterAll(() => identity.stop());

const desired = (cluster: string, changes: Partial<DesiredIdentity> = {}): DesiredIdentity => ({
  namespace: 'default',
  cluster,
  uid: `uid-of-${cluster}`,
  clientId: `kube-default.${cluster}`,
  group: `/kube-default.${cluster}`,
  groupsClaim: 'groups',
  ...changes,
});
const open = (changes: Partial<RealmAccess> = {}, http: RealmHttp = checked()) =>
  keycloak(http).open({ ...access, ...changes }, signal);

/** Queries the Admin API without the adapter. */
const admin = async <Body>(path: string, method: HttpRequest['method'] = 'GET', json?: unknown): Promise<Body> => {
  const { issuerUrl, ca, clientId, clientSecret } = identity;
  const ask = async (url: string, request: Partial<HttpRequest>): Promise<string> => {
    const limits = { timeLimitMs: 10_000, answerBytesMax: 1_000_000, headers: {} };
    const answer = await checked().request(url, { method: 'GET', ca, ...limits, ...request }, signal);
    if (answer.kind !== 'answered') throw new Error(answer.why);
    return answer.body ?? '';
  };
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const { access_token: token } = JSON.parse(
    await ask(`${issuerUrl}/protocol/openid-connect/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    }),
  ) as { access_token: string };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  const text = await ask(`${issuerUrl.replace('/realms/', '/admin/realms/')}/${path}`, { method, headers, ...body });
  return (text === '' ? undefined : JSON.parse(text)) as Body;
};
interface ClientRow {
  readonly id: string;
  readonly [field: string]: unknown;
}
const clientsOf = (cluster: string): Promise<readonly ClientRow[]> =>
  admin<readonly ClientRow[]>(`clients?clientId=kube-default.${cluster}`);
const groupNames = async (): Promise<readonly string[]> =>
  (await admin<readonly { name: string }[]>('groups')).map(({ name }) => name);

describe('a client in a Keycloak realm', () => {
  it("is public, has the device flow and kubelogin's authorization code flow, and lists groups by path", async () => {
    const session = await open();
    await session.ensureClient(desired('flows', { groupsClaim: 'example.org/groups' }), signal);
    const [client] = await clientsOf('flows');
    expect(client).toMatchObject({
      publicClient: true,
      standardFlowEnabled: true,
      implicitFlowEnabled: false,
      directAccessGrantsEnabled: false,
      serviceAccountsEnabled: false,
      redirectUris: ['http://localhost:8000', 'http://localhost:18000'],
      attributes: {
        'oauth2.device.authorization.grant.enabled': 'true',
        'fairlead.dev/cluster': 'default/flows',
        'fairlead.dev/cluster-uid': 'uid-of-flows',
      },
      protocolMappers: [
        {
          protocolMapper: 'oidc-group-membership-mapper',
          config: { 'claim.name': String.raw`example\.org/groups`, 'full.path': 'true', 'id.token.claim': 'true' },
        },
      ],
    });
    expect(client).not.toHaveProperty('secret');
  });

  it('is created once, however often and concurrently it is ensured, and by several replicas [azimuth 3]', async () => {
    const sessions = await Promise.all([open(), open(), open()]);
    await Promise.all(sessions.map((session) => session.ensureClient(desired('often'), signal)));
    for (const session of sessions) await session.ensureClient(desired('often'), signal);
    await Promise.all(sessions.map((session) => session.ensureGroup(desired('often'), signal)));
    expect(await clientsOf('often')).toHaveLength(1);
    expect((await groupNames()).filter((name) => name === 'kube-default.often')).toHaveLength(1);
  });

  it('is corrected, with its mapper, after manual changes', async () => {
    const session = await open();
    await session.ensureClient(desired('changed'), signal);
    const [{ id }] = (await clientsOf('changed')) as [ClientRow];
    await admin(`clients/${id}`, 'PUT', { directAccessGrantsEnabled: true, redirectUris: ['https://evil.example'] });
    await session.ensureClient(desired('changed', { groupsClaim: 'roles' }), signal);
    const [client] = await clientsOf('changed');
    expect(client).toMatchObject({
      id,
      directAccessGrantsEnabled: false,
      redirectUris: ['http://localhost:8000', 'http://localhost:18000'],
      protocolMappers: [{ config: { 'claim.name': 'roles' } }],
    });
  });

  it('of the same cluster is adopted; one of another cluster or without a known owner is refused and kept [azimuth 3, azimuth 28]', async () => {
    const session = await open();
    const own = { clientId: 'kube-default.mine', publicClient: false };
    await admin('clients', 'POST', { ...own, attributes: { 'fairlead.dev/cluster-uid': 'uid-of-mine' } });
    await session.ensureClient(desired('mine'), signal);
    expect(await clientsOf('mine')).toMatchObject([{ publicClient: true, protocolMappers: [{ name: 'groups' }] }]);
    await session.ensureClient(desired('theirs', { uid: 'another' }), signal);
    await expect(session.ensureClient(desired('theirs'), signal)).rejects.toMatchObject({
      reason: 'ClientTaken',
      message: expect.stringContaining('default/theirs'),
    });
    await admin('clients', 'POST', { clientId: 'kube-default.byhand' });
    await expect(session.ensureClient(desired('byhand'), signal)).rejects.toMatchObject({ reason: 'ClientTaken' });
    for (const cluster of ['theirs', 'byhand']) await session.deleteClient(desired(cluster), signal);
    expect([await clientsOf('theirs'), await clientsOf('byhand')]).toMatchObject([[{}], [{}]]);
  });

  it('is deleted with its group, idempotently; a group of another cluster is kept', async () => {
    const session = await open();
    await session.ensureGroup(desired('gone'), signal);
    await session.ensureClient(desired('gone'), signal);
    for (let time = 0; time < 2; time += 1) {
      await session.deleteClient(desired('gone'), signal);
      await session.deleteGroup(desired('gone'), signal);
    }
    expect([await clientsOf('gone'), (await groupNames()).includes('kube-default.gone')]).toEqual([[], false]);
    await session.ensureGroup(desired('kept', { uid: 'another' }), signal);
    await expect(session.ensureGroup(desired('kept'), signal)).rejects.toMatchObject({ reason: 'GroupTaken' });
    await session.deleteGroup(desired('kept'), signal);
    expect(await groupNames()).toContain('kube-default.kept');
  });
});

describe('a Keycloak realm is not ready', () => {
  it('with a wrong client credential', async () => {
    await expect(open({ clientSecret: 'wrong-and-secret' })).rejects.toMatchObject({
      reason: 'CredentialRefused',
      message: expect.stringMatching(/^realm company: POST .*\/token answers 401 \(unauthorized_client\)/),
    });
  });

  it('if its certificate is of an unknown CA, nothing listens, or its address is not allowed', async () => {
    const { ca: _ca, ...without } = access;
    await expect(keycloak(checked()).open(without, signal)).rejects.toMatchObject({ reason: 'RealmUnreachable' });
    await expect(open({ issuerUrl: 'https://127.0.0.1:1/realms/lab' })).rejects.toMatchObject({
      reason: 'RealmUnreachable',
    });
    await expect(open({}, checked(''))).rejects.toMatchObject({
      reason: 'RealmUnreachable',
      message: expect.stringContaining('REALM_ADDRESSES_ALLOWED'),
    });
  });

  it('if it does not exist', async () => {
    await expect(open({ issuerUrl: access.issuerUrl.replace(/lab$/, 'other') })).rejects.toMatchObject({
      reason: 'RealmInvalid',
    });
  });
});

/** A provider with fixed responses, by the end of the path. */
const answering = (answers: Readonly<Record<string, HttpAnswer>>): RealmHttp & { readonly asked: string[] } => {
  const asked: string[] = [];
  return {
    asked,
    request: async (url, { method }) => {
      asked.push(`${method} ${url}`);
      const { pathname } = new URL(url);
      const [, answer] = Object.entries(answers).find(([end]) => pathname.endsWith(end)) ?? [];
      return answer ?? { kind: 'answered', status: 404, body: '' };
    },
  };
};
const ISSUER = 'https://id.example.org/realms/team';
const json = (body: unknown, status = 200): HttpAnswer => ({ kind: 'answered', status, body: JSON.stringify(body) });
const discovery = (changes: object = {}): HttpAnswer =>
  json({
    issuer: ISSUER,
    token_endpoint: `${ISSUER}/protocol/openid-connect/token`,
    jwks_uri: `${ISSUER}/certs`,
    device_authorization_endpoint: `${ISSUER}/auth/device`,
    ...changes,
  });
const GOOD = {
  '/openid-configuration': discovery(),
  '/token': json({ access_token: 'abc.def-ghi' }),
  '/clients': json([]),
  '/groups': json([]),
};
const openWith = (answers: Readonly<Record<string, HttpAnswer>>) => {
  const http = answering({ ...GOOD, ...answers });
  return { http, opened: keycloak(http).open({ ...access, issuerUrl: ISSUER }, signal) };
};

describe('responses of a hostile or broken identity provider', () => {
  it.each([
    ['RealmInvalid', { '/openid-configuration': discovery({ issuer: 'https://id.example.org/realms/other' }) }],
    ['RealmInvalid', { '/openid-configuration': discovery({ token_endpoint: 'https://evil.example.org/token' }) }],
    ['RealmInvalid', { '/openid-configuration': discovery({ jwks_uri: 'http://id.example.org/certs' }) }],
    ['RealmInvalid', { '/openid-configuration': discovery({ device_authorization_endpoint: undefined }) }],
    ['RealmInvalid', { '/openid-configuration': { kind: 'answered', status: 200, body: '<html>' } }],
    ['RealmInvalid', { '/openid-configuration': { kind: 'answered', status: 302, body: '' } }],
    ['RealmUnreachable', { '/openid-configuration': { kind: 'answered', status: 503, body: '' } }],
    [
      'RealmUnreachable',
      { '/openid-configuration': { kind: 'silent', why: 'the answer is larger than 1048576 bytes' } },
    ],
    ['RealmInvalid', { '/token': json({ access_token: 'abc\r\nx-evil: 1' }) }],
    ['CredentialRefused', { '/token': json({ error: 'invalid_client' }, 400) }],
    ['RealmUnreachable', { '/token': json({ error: 'slow_down' }, 429) }],
    ['CredentialRefused', { '/clients': json({ error: 'HTTP 403 Forbidden' }, 403) }],
    ['RealmInvalid', { '/groups': json({ error: 'not found' }, 404) }],
  ] as const)('lead to a retry: %s', async (reason, answers) => {
    await expect(openWith(answers).opened).rejects.toMatchObject({ reason });
  });

  it("cannot redirect the credential to a host other than the issuer's", async () => {
    const elsewhere = discovery({ token_endpoint: 'https://evil.example.org/token' });
    const { http, opened } = openWith({ '/openid-configuration': elsewhere });
    await expect(opened).rejects.toThrow('another host');
    expect(http.asked).toEqual([`GET ${ISSUER}/.well-known/openid-configuration`]);
  });

  const CUT_AT = 300;
  it.each([
    ['as it is', (secret: string) => secret],
    ['across a cut', (secret: string) => `${'x'.repeat(CUT_AT - secret.length + 1)}${secret}`],
    ['in Base64', (secret: string) => Buffer.from(`lab:${secret}`).toString('base64')],
    ['backwards', (secret: string) => [...secret].toReversed().join('')],
    ['with control characters', (secret: string) => `${secret}\n\u001b[31m${'x'.repeat(5_000)}`],
  ])('are not repeated, so the credential is not leaked %s', async (_, echo) => {
    const words = echo(access.clientSecret);
    for (const body of [
      { error: words },
      { error: 'invalid_client', error_description: words },
      { errorMessage: words },
    ]) {
      const failure = await openWith({ '/token': json(body, 401) }).opened.catch((error: unknown) => error);
      const { message } = failure as Error;
      expect(message).toMatch(
        /^realm company: POST \/realms\/team\/protocol\/openid-connect\/token answers 401( \(invalid_client\))? to the client \S+$/,
      );
      expect(message).not.toContain(words);
    }
  });

  it('cannot name a client of another path; more than one client is rejected', async () => {
    const other = { id: '../../../users/1', clientId: 'kube-default.demo' };
    const session = await openWith({}).opened;
    const hostile = await openWith({ '/clients': json([other]) }).opened;
    await expect(hostile.ensureClient(desired('demo'), signal)).rejects.toMatchObject({ reason: 'RealmInvalid' });
    // Reports that it has created the client, but does not return it.
    await expect(session.ensureClient(desired('demo'), signal)).rejects.toMatchObject({ reason: 'RealmInvalid' });
    const many = Array.from({ length: 11 }, (_, at) => ({ id: `c${at}`, clientId: 'other' }));
    const crowded = await openWith({ '/clients': json(many) }).opened;
    await expect(crowded.deleteClient(desired('demo'), signal)).rejects.toMatchObject({ reason: 'RealmInvalid' });
  });
});
