import { startTestIdentity } from '@fairlead/lab/testing/identity';
import type { HttpAnswer } from '@fairlead/service-kit/http';
import { describe, expect, it } from '@jest/globals';
import type { RealmAccess } from '../../realms/realm.ports.js';
import type { RealmHttp } from './keycloak.client.js';
import { desiredIdentity as desired, describeKeycloak } from './keycloak.provider.features.js';
import { keycloak } from './keycloak.provider.js';

describe('with the imitation of Keycloak', () => describeKeycloak(startTestIdentity));

const { signal } = new AbortController();
const access: Omit<RealmAccess, 'issuerUrl'> = {
  namespace: 'default',
  name: 'company',
  provider: 'keycloak',
  clientId: 'fairlead',
  clientSecret: 'secret-of-a-test-realm',
};

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
