import type { CreatedTokenView, ErrorView, SignInCodeView, WhoamiView } from '@fairlead/contracts';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { useGateway } from '../gateway.fixtures.js';
import { newSecret } from '@fairlead/embedded/credentials';

const folder = newFolder('page');
afterAll(() => removeFolder(folder));

const gateway = useGateway(async () => undefined, { variables: { PAGE_DIR: folder } });
/** What one of the two has. */
type WhoOrError = Omit<WhoamiView, 'kind'> & Omit<ErrorView, 'kind'>;
const OWN = { 'sec-fetch-site': 'same-origin' };

const codeOf = async (token?: string): Promise<string> =>
  (await gateway.ask<SignInCodeView>('POST', '/sign-in/codes', token === undefined ? {} : { token })).body.code;

const signIn = (body: unknown, headers: Readonly<Record<string, string>> = OWN) =>
  gateway.ask<WhoOrError>('POST', '/sign-in', { token: null, body, headers });

const cookieOf = ({ headers }: { readonly headers: Headers }): string => headers.getSetCookie()[0]?.split(';')[0] ?? '';

const withCookie = (method: string, path: string, cookie: string, headers: Readonly<Record<string, string>> = OWN) =>
  gateway.ask<WhoOrError>(method, path, { token: null, headers: { cookie, ...headers } });

describe('a one-time code', () => {
  it('signs a browser in as the token that it was made with', async () => {
    const answer = await signIn({ code: await codeOf() });
    expect([answer.status, answer.body.name, answer.headers.get('cache-control')]).toEqual([200, 'local', 'no-store']);
    const [cookie = ''] = answer.headers.getSetCookie();
    expect(cookie).toMatch(
      /^fairlead-session-\d+=fs_[0-9a-f]{16}_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Expires=/,
    );
    expect((await withCookie('GET', '/whoami', cookieOf(answer))).body.name).toBe('local');
  });

  it('is good once, also for two browsers at the same moment', async () => {
    const code = await codeOf();
    const answers = await Promise.all([signIn({ code }), signIn({ code }), signIn({ code })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    expect(answers.find(({ status }) => status === 401)?.body.reason).toBe('session.code-unknown');
  });

  it('opens nothing if it was guessed, is of another form, or is a token', async () => {
    const code = await codeOf();
    const guessed = `${code.slice(0, -4)}AAAA`;
    for (const wrong of [guessed, 'fc_1', newSecret('code').token, gateway.token, ''])
      expect([wrong.length, (await signIn({ code: wrong })).status]).toEqual([wrong.length, wrong === '' ? 400 : 401]);
    expect((await signIn({ code })).status).toBe(401); // One guess ended it.
    expect((await signIn({ token: await codeOf() })).body.reason).toBe('auth.token-unknown');
  });

  it('is made by a caller with a token, and is of the role of that caller', async () => {
    expect((await gateway.ask('POST', '/sign-in/codes', { token: null })).status).toBe(401);
    const viewer = await gateway.ask<CreatedTokenView>('POST', '/tokens', {
      body: { name: 'viewer', roles: [{ namespace: 'default', role: 'viewer' }] },
    });
    const cookie = cookieOf(await signIn({ code: await codeOf(viewer.body.token) }));
    expect((await withCookie('GET', '/whoami', cookie)).body.roles).toEqual([{ namespace: 'default', role: 'viewer' }]);
    expect((await withCookie('GET', '/events', cookie)).status).toBe(403);
  });
});

describe('a session', () => {
  it('begins with a token as well, and ends when that is revoked', async () => {
    const { token, id } = (
      await gateway.ask<CreatedTokenView>('POST', '/tokens', {
        body: { name: 'ada', roles: [{ namespace: 'default', role: 'viewer' }] },
      })
    ).body;
    const cookie = cookieOf(await signIn({ token }));
    expect((await withCookie('GET', '/whoami', cookie)).status).toBe(200);
    await gateway.ask('DELETE', `/tokens/${id}`);
    const ended = await withCookie('GET', '/whoami', cookie);
    expect([ended.status, ended.body.reason]).toEqual([401, 'session.ended']);
    expect((await signIn({ token })).body.reason).toBe('auth.token-unknown');
  });

  it('ends no later than its token', async () => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const { token } = (
      await gateway.ask<CreatedTokenView>('POST', '/tokens', {
        body: { name: 'short', roles: [{ namespace: 'default', role: 'viewer' }], expiresAt },
      })
    ).body;
    const [cookie = ''] = (await signIn({ token })).headers.getSetCookie();
    const expires = Date.parse(/Expires=([^;]+)/.exec(cookie)?.[1] ?? '');
    expect(Math.abs(expires - Date.parse(expiresAt))).toBeLessThan(1_001);
  });

  it('ends when it is signed out, and its streams with it', async () => {
    const cookie = cookieOf(await signIn({ code: await codeOf() }));
    const stream = await fetch(`${gateway.baseUrl()}/events/stream`, { headers: { cookie, ...OWN } });
    expect(stream.status).toBe(200);
    const out = await withCookie('POST', '/sign-out', cookie);
    expect([out.status, out.headers.getSetCookie()[0]]).toEqual([200, expect.stringContaining('Thu, 01 Jan 1970')]);
    await expect(stream.text()).resolves.toEqual(expect.any(String)); // It has ended.
    expect((await withCookie('GET', '/whoami', cookie)).body.reason).toBe('session.ended');
    expect((await gateway.ask('POST', '/sign-out')).status).toBe(200);
    expect((await gateway.ask('GET', '/whoami')).status).toBe(200); // A bearer token is not affected.
  });

  it('is refused in requests of other pages, and a bearer token is not', async () => {
    const cookie = cookieOf(await signIn({ code: await codeOf() }));
    for (const [method, path, headers] of [
      ['POST', '/ns', { 'sec-fetch-site': 'cross-site' }],
      ['POST', '/ns', { origin: 'http://127.0.0.1:1' }],
      ['POST', '/ns', {}],
      ['GET', '/ns', { 'sec-fetch-site': 'same-site' }],
      ['POST', '/sign-out', { 'sec-fetch-site': 'cross-site' }],
    ] as const) {
      const { status, body } = await withCookie(method, path, cookie, headers);
      expect([method, path, status, body.reason]).toEqual([method, path, 403, 'session.other-origin']);
    }
    expect((await withCookie('GET', '/ns', cookie, {})).status).toBe(200);
    expect((await gateway.ask('GET', '/ns', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(200);
    expect((await signIn({ code: await codeOf() }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await signIn({ token: gateway.token }, {})).status).toBe(403);
  });

  it('is one of few of its token: the oldest gives way', async () => {
    const first = cookieOf(await signIn({ token: gateway.token }));
    for (let index = 0; index < 50; index += 1) await signIn({ token: gateway.token });
    expect((await withCookie('GET', '/whoami', first)).body.reason).toBe('session.ended');
  });
});

describe('the page', () => {
  const page = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    gateway.ask<string>('GET', path, { token: null, headers });

  it('says how it is built where it is not, and is served from the moment that it is', async () => {
    const missing = await page('/');
    expect([missing.status, missing.body]).toEqual([200, expect.stringContaining('node tools/page.mjs')]);
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'assets', 'main-1.js'), 'let a;');
    writeFileSync(join(folder, 'assets', 'main-1.js.gz'), gzipSync('let a;'));
    writeFileSync(join(folder, 'index.html'), '<p nonce="__NONCE__">');
    const { headers, body } = await page('/');
    const nonce = /nonce="([\w-]+)"/.exec(body)?.[1] ?? '';
    expect(nonce).toHaveLength(24);
    expect((await page('/')).body).not.toContain(nonce);
    const csp = headers.get('content-security-policy') ?? '';
    expect(csp).toContain(`style-src 'self' 'nonce-${nonce}'`);
    expect(csp).toContain("script-src 'self';");
    expect(csp).toContain("frame-ancestors 'none'");
    expect(csp).not.toContain('unsafe');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('has files that never change, compressed for those who accept it, and none beside them', async () => {
    const { headers, body } = await page('/assets/main-1.js');
    expect([body, headers.get('cache-control'), headers.get('content-encoding')]).toEqual([
      'let a;',
      'public, max-age=31536000, immutable',
      'gzip',
    ]);
    const plain = await new Promise<string | undefined>((resolve, reject) =>
      httpRequest(`${gateway.baseUrl()}/assets/main-1.js`, (response) => {
        response.resume();
        resolve(response.headers['content-encoding']);
      })
        .on('error', reject)
        .end(),
    );
    expect(plain).toBeUndefined();
    for (const path of ['/assets/none.js', '/assets/..%2findex.html', '/assets/%2e%2e/index.html', '/assets/'])
      expect([path, (await page(path)).status]).toEqual([path, 404]);
    expect((await gateway.ask('POST', '/', { token: null, body: {} })).status).toBe(404);
  });
});
