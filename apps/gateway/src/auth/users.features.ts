import type { CreatedTokenView, ErrorView, EventList, SignInIssuerView, WhoamiView } from '@fairlead/contracts';
import { askOver, PAGE_URL, signInAt, tokensOf, type TestIssuer } from '@fairlead/lab/testing/issuer';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import pg from 'pg';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useGateway, type AskOptions } from '../gateway.fixtures.js';

const OWN = { 'sec-fetch-site': 'same-origin' };
/** Replicas: without an issuer; that takes tokens until they end; that introspects them. */
const [PLAIN, BY_EXPIRY, BY_INTROSPECTION] = [0, 1, 2] as const;

type Anything = Omit<WhoamiView, 'kind'> & Omit<ErrorView, 'kind'>;

interface Redirected {
  readonly status: number;
  readonly location: string;
  readonly cookies: readonly string[];
}

/** Users sign in at an identity provider: what holds at every one. */
export const describeUserSignIn = (start: () => Promise<TestIssuer>): void => {
  const gateway = useGateway();
  let folder: string;
  let issuer: TestIssuer;

  beforeAll(async () => {
    folder = newFolder('users');
    const started = await start();
    let stopped: Promise<void> | undefined;
    issuer = { ...started, stop: () => (stopped ??= started.stop()) };
    await issuer.setMember('alice', 'operators', true);
    await issuer.setMember('root', 'admins', true);
    writeFileSync(join(folder, 'ca.pem'), issuer.ca);
    writeFileSync(join(folder, 'secret'), `${issuer.clientSecret}\n`);
    const variables = {
      OIDC_ISSUER: issuer.issuerUrl,
      OIDC_CA_FILE: join(folder, 'ca.pem'),
      OIDC_CLIENT_ID: issuer.clientId,
      OIDC_CLIENT_SECRET_FILE: join(folder, 'secret'),
      OIDC_CLI_CLIENT_ID: issuer.cliClientId,
      OIDC_ROLES: '/admins *=admin; /operators default=operator,gone=admin',
      OIDC_PAGE_URL: `${PAGE_URL}/`,
      OIDC_CHECK_SECONDS: '1',
    };
    await gateway.startReplica(variables);
    await gateway.startReplica({ ...variables, OIDC_BEARER: 'access' });
  }, 600_000);
  afterAll(async () => {
    await issuer.stop();
    removeFolder(folder);
  });

  const ask = <Body = Anything>(method: string, path: string, options: AskOptions) =>
    gateway.ask<Body>(method, path, { replica: BY_EXPIRY, ...options });

  const visit = async (pathAndQuery: string, cookie = ''): Promise<Redirected> => {
    const headers = cookie === '' ? {} : { cookie };
    const { status, headers: got } = await fetch(`${gateway.baseUrl(BY_EXPIRY)}${pathAndQuery}`, {
      redirect: 'manual',
      headers,
    });
    return { status, location: got.get('location') ?? '', cookies: got.getSetCookie() };
  };
  const pairOf = (cookies: readonly string[], name: string): string =>
    cookies.find((text) => text.startsWith(name))?.split(';')[0] ?? '';

  /** The browser of a user up to the address at which it comes back, with the cookie of the sign-in. */
  const cameBack = async (user: string): Promise<{ readonly path: string; readonly cookie: string }> => {
    const begun = await visit('/sign-in/issuer/begin');
    const { pathname, search } = await signInAt(issuer.ca, begun.location, user);
    return { path: `${pathname}${search}`, cookie: pairOf(begun.cookies, 'fairlead-sign-in') };
  };
  const signedIn = async (user: string): Promise<string> => {
    const { path, cookie } = await cameBack(user);
    const { location, cookies } = await visit(path, cookie);
    expect(location).toBe(`${PAGE_URL}/`);
    return pairOf(cookies, 'fairlead-session');
  };
  const inSession = (cookie: string) => ({ token: null, headers: { cookie, ...OWN } });

  describe('the installation', () => {
    it('says where users sign in, and holds no secret back there', async () => {
      const { status, body } = await ask<SignInIssuerView>('GET', '/sign-in/issuer', { token: null });
      expect([status, body]).toEqual([
        200,
        {
          kind: 'SignInIssuer',
          issuer: issuer.issuerUrl,
          clientId: issuer.cliClientId,
          scopes: 'openid profile',
          bearer: 'id',
          page: true,
          ca: issuer.ca,
        },
      ]);
      const none = await ask('GET', '/sign-in/issuer', { token: null, replica: PLAIN });
      expect([none.status, none.body.reason]).toEqual([404, 'issuer.none']);
    });

    it('still takes its own tokens', async () => {
      expect((await ask('GET', '/whoami', {})).body.name).toBe('local');
    });
  });

  describe('a browser', () => {
    it('signs a user in by code with PKCE, and the session is that of the page', async () => {
      const begun = await visit('/sign-in/issuer/begin');
      const asked = new URL(begun.location);
      expect([begun.status, begun.location.startsWith(issuer.issuerUrl)]).toEqual([302, true]);
      expect(Object.fromEntries(asked.searchParams)).toMatchObject({
        response_type: 'code',
        client_id: issuer.clientId,
        redirect_uri: `${PAGE_URL}/sign-in/issuer/callback`,
        scope: 'openid profile',
        code_challenge_method: 'S256',
        state: expect.stringMatching(/^[\w-]{43}$/),
        nonce: expect.stringMatching(/^[\w-]{43}$/),
      });
      expect(begun.cookies).toEqual([
        expect.stringMatching(/^fairlead-sign-in=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/),
      ]);
      const { path, cookie } = await cameBack('alice');
      const { cookies } = await visit(path, cookie);
      expect(cookies.find((text) => text.startsWith('fairlead-session'))).toMatch(
        /^fairlead-session-\d+=fu_[0-9a-f]{16}_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Expires=/,
      );
      const { body } = await ask('GET', '/whoami', inSession(pairOf(cookies, 'fairlead-session')));
      expect(body).toMatchObject({
        name: 'alice',
        signedIn: true,
        tokenId: expect.stringMatching(/^oidc[0-9a-f]{24}$/),
        actor: `user/alice#${body.tokenId}`,
        roles: [{ namespace: 'default', role: 'operator' }], // The namespace `gone` does not exist.
      });
      const again = await visit(path, cookie);
      expect(again.location).toBe(`${PAGE_URL}/#/sign-in-refused/refused`); // A code is good once.
    });

    it('that did not begin the sign-in is not signed in by its answer', async () => {
      const { path, cookie } = await cameBack('alice');
      const other = pairOf((await visit('/sign-in/issuer/begin')).cookies, 'fairlead-sign-in');
      const refused = [
        await visit(path),
        await visit(path, other),
        await visit(path.replace(/state=[^&]+/, 'state=x'), cookie),
        await visit('/sign-in/issuer/callback?error=access_denied', cookie),
        await visit(`/sign-in/issuer/callback?code=${'x'.repeat(2_000)}`, cookie),
      ];
      expect(refused.map(({ location }) => location)).toEqual(
        refused.map(() => `${PAGE_URL}/#/sign-in-refused/refused`),
      );
      expect(refused.flatMap(({ cookies }) => cookies).filter((text) => text.startsWith('fairlead-session'))).toEqual(
        [],
      );
      expect((await visit(path, cookie)).location).toBe(`${PAGE_URL}/`); // None of them has used the code up.
    });

    it('names the user of the issuer in what it records', async () => {
      const cookie = await signedIn('root');
      const { body: who } = await ask('GET', '/whoami', inSession(cookie));
      const made = await ask('POST', '/ns', { ...inSession(cookie), body: { name: 'of-root' } });
      expect(made.status).toBe(201);
      const { body } = await ask<EventList>('GET', '/events?type=NamespaceCreated', inSession(cookie));
      expect(body.items.map(({ actor }) => actor)).toContain(`user/root#${who.tokenId}`);
    });

    it('is out when it signs out', async () => {
      const cookie = await signedIn('alice');
      expect((await ask('POST', '/sign-out', inSession(cookie))).status).toBe(200);
      expect((await ask('GET', '/whoami', inSession(cookie))).body.reason).toBe('session.ended');
    });

    it('has a refresh token that the database alone does not show', async () => {
      const cookie = await signedIn('alice');
      const [, session = ''] = cookie.split('=');
      const [, id = '', secret = ''] = /^fu_(\w{16})_([\w-]{43})$/.exec(session) ?? [];
      expect(secret).toHaveLength(43);
      const client = new pg.Client(gateway.environment.databases.gateway);
      await client.connect();
      const { rows } = await client.query<{ readonly sealed: Buffer; readonly row: string }>(
        'select sealed, user_sessions::text as row from user_sessions where id = $1',
        [id],
      );
      await client.end();
      expect(rows).toHaveLength(1);
      expect(rows[0]?.row).not.toContain(secret);
      expect(rows[0]?.sealed.length).toBeGreaterThan(40);
      expect(rows[0]?.sealed.toString('latin1')).not.toMatch(/[\w.-]{16}/);
    });

    it('of another page does nothing with the session', async () => {
      const cookie = await signedIn('root');
      const headers = { cookie, 'sec-fetch-site': 'cross-site' };
      const { body } = await ask('POST', '/ns', { token: null, headers, body: { name: 'stolen' } });
      expect(body.reason).toBe('session.other-origin');
    });

    it('has the new roles within the check, loses a role that ends, and its streams with it', async () => {
      await issuer.setMember('carol', 'operators', true);
      const cookie = await signedIn('carol');
      const path = '/ns/default/clusters';
      expect((await ask('GET', path, inSession(cookie))).status).toBe(200);
      const stream = await fetch(`${gateway.baseUrl(BY_EXPIRY)}/ns/default/clusters/demo/events/stream`, {
        headers: { cookie, ...OWN },
      });
      await issuer.setMember('carol', 'operators', false);
      await eventually(async () => (await ask('GET', path, inSession(cookie))).status === 403);
      await expect(stream.text()).resolves.toEqual(expect.any(String)); // It has ended.
      expect((await ask('GET', '/whoami', inSession(cookie))).body.roles).toEqual([]);
      await issuer.setMember('carol', 'admins', true);
      await eventually(async () => (await ask('GET', path, inSession(cookie))).status === 200);
    });

    it('is out soon after the issuer has ended the session of the user', async () => {
      await issuer.setMember('dave', 'operators', true);
      const cookie = await signedIn('dave');
      expect((await ask('GET', '/whoami', inSession(cookie))).status).toBe(200);
      await issuer.setEnabled('dave', false);
      await eventually(async () => (await ask('GET', '/whoami', inSession(cookie))).body.reason === 'session.ended');
      await issuer.setEnabled('dave', true);
      expect((await ask('GET', '/whoami', inSession(cookie))).status).toBe(401); // It does not come back.
    });
  });

  describe('a user', () => {
    it('without a group is known, and may do nothing', async () => {
      await issuer.setMember('mallory', 'operators', false);
      const { id_token: token } = await tokensOf(issuer, 'mallory');
      expect((await ask('GET', '/whoami', { token })).body).toMatchObject({ name: 'mallory', roles: [] });
      const { status, body } = await ask('GET', '/ns/default/clusters', { token });
      expect([status, body.reason]).toEqual([403, 'auth.role-missing']);
    });

    it('has the role that the group has, in that namespace only', async () => {
      const { id_token: token } = await tokensOf(issuer, 'alice');
      const answers = await Promise.all(
        [
          ['GET', '/ns/default/clusters'],
          ['GET', '/ns/of-root/clusters'],
          ['GET', '/tokens'],
          ['GET', '/events'],
        ].map(([method = '', path = '']) => ask(method, path, { token })),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 403, 403, 403]);
    });

    it('makes no sign-in codes, and as administrator makes tokens for machines that outlive the sign-in', async () => {
      const { id_token: token } = await tokensOf(issuer, 'root');
      const code = await ask('POST', '/sign-in/codes', { token });
      expect([code.status, code.body.reason]).toEqual([403, 'session.code-user']);
      const made = await ask<CreatedTokenView>('POST', '/tokens', {
        token,
        body: { name: 'ci', roles: [{ namespace: 'default', role: 'viewer' }] },
      });
      expect([made.status, made.body.expiresAt]).toEqual([201, undefined]);
    });
  });

  describe('a token of the issuer', () => {
    it('counts only where it is for Fairlead', async () => {
      const { id_token: id, access_token: access, refresh_token: refresh } = await tokensOf(issuer, 'alice');
      expect((await ask('GET', '/whoami', { token: access })).body.name).toBe('alice');
      const cookie = await signedIn('alice');
      for (const wrong of [
        cookie.split('=')[1] ?? '',
        refresh,
        `${id}x`,
        id.replace(/\.[^.]+$/, '.'),
        `${id}.${id}`,
        `${access.slice(0, -8)}AAAAAAAA`,
      ]) {
        const { status, body } = await ask('GET', '/whoami', { token: wrong });
        expect([status, body.reason]).toEqual([401, 'auth.token-unknown']);
      }
      const elsewhere = await ask('GET', '/whoami', { token: id, replica: PLAIN });
      expect(elsewhere.status).toBe(401);
    });

    it('that is forged opens nothing', async () => {
      const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
      const { keys } = JSON.parse(
        (await askOver(issuer.ca, `${issuer.issuerUrl}/protocol/openid-connect/certs`)).text,
      ) as { readonly keys: readonly { readonly kid: string; readonly alg: string; readonly use?: string }[] };
      const now = Math.floor(Date.now() / 1_000);
      const claims: JWTPayload = {
        ...{ iss: issuer.issuerUrl, aud: issuer.clientId, sub: '1', iat: now, exp: now + 300 },
        ...{ preferred_username: 'root', groups: ['/admins'] },
      };
      const kid = keys.find(({ use }) => use === undefined || use === 'sig')?.kid ?? '';
      const body = [{ alg: 'HS256', kid }, claims]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
      const secret = JSON.stringify(keys[0]);
      const signed = (header: object) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'ES256', ...header }).sign(privateKey);
      const jwk = await exportJWK(publicKey);
      const forged = [
        new UnsecuredJWT(claims).encode(),
        `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`,
        await signed({ kid }),
        await signed({ kid: 'unknown' }),
        await signed({ jwk }),
        await signed({ kid, jku: 'https://127.0.0.1:1/keys' }),
        `${'a'.repeat(9_000)}.a.a`,
      ];
      for (const token of forged) {
        const { status, body: answer } = await ask('GET', '/whoami', { token });
        expect([token.slice(0, 40), status, answer.reason]).toEqual([token.slice(0, 40), 401, 'auth.token-unknown']);
      }
    });

    it('is introspected where that is asked for, and opens nothing soon after the user has left', async () => {
      await issuer.setMember('erin', 'operators', true);
      const { access_token: token } = await tokensOf(issuer, 'erin');
      const look = (path: string) => ask('GET', path, { token, replica: BY_INTROSPECTION });
      expect(
        (await ask<SignInIssuerView>('GET', '/sign-in/issuer', { token: null, replica: BY_INTROSPECTION })).body.bearer,
      ).toBe('access');
      expect((await look('/ns/default/clusters')).status).toBe(200);
      await issuer.setMember('erin', 'operators', false);
      await eventually(async () => (await look('/ns/default/clusters')).status === 403);
      await issuer.setEnabled('erin', false);
      await eventually(async () => (await look('/whoami')).status === 401);
      // Where it is not, the token says what it said until it ends.
      expect((await ask('GET', '/ns/default/clusters', { token })).status).toBe(200);
    });
  });

  describe('while the issuer is down', () => {
    it('what it said last is good until its token ends, an introspected token is not, and API tokens are', async () => {
      const cookie = await signedIn('alice');
      const { id_token: id, access_token: access } = await tokensOf(issuer, 'alice');
      const { path, cookie: begun } = await cameBack('alice');
      await issuer.stop();
      await eventually(async () => {
        const { status, body } = await ask('GET', '/whoami', { token: access, replica: BY_INTROSPECTION });
        return status === 503 && body.reason === 'issuer.unavailable';
      });
      expect((await ask('GET', '/whoami', inSession(cookie))).body.name).toBe('alice');
      expect((await ask('GET', '/whoami', { token: id })).body.name).toBe('alice');
      expect((await ask('GET', '/whoami', {})).body.name).toBe('local');
      expect((await visit(path, begun)).location).toBe(`${PAGE_URL}/#/sign-in-refused/unavailable`);
    });
  });
};
