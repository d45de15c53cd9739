import { signInAt, startTestIssuer } from '@fairlead/lab/testing/issuer';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import type { Contexts } from '../instance/contexts.store.js';
import { FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run } from '../spec/io.fixtures.js';

const gateway = new FakeGateway();
let issuer: Awaited<ReturnType<typeof startTestIssuer>>;
let home: string;

beforeAll(async () => {
  issuer = await startTestIssuer();
  home = newFolder('login');
  await gateway.start();
});
afterAll(async () => {
  await gateway.stop();
  await issuer.stop();
  removeFolder(home);
});
beforeEach(() => {
  rmSync(join(home, 'fairlead'), { recursive: true, force: true });
  issuer.tokenSeconds = 300;
  gateway.received.length = 0;
  answer('id');
});

/** A gateway that believes every token of the issuer that has not ended, as the real one after it has verified it. */
const answer = (bearer: 'id' | 'access'): void => {
  const { issuerUrl, cliClientId: clientId, ca } = issuer;
  const view = { kind: 'SignInIssuer', issuer: issuerUrl, clientId, scopes: 'openid profile', bearer, page: true, ca };
  gateway.on('GET', '/sign-in/issuer', { body: view });
  gateway.on('GET', '/whoami', ({ headers }) => {
    const { preferred_username: name, exp = 0, typ } = decodeJwt((headers.authorization ?? '').slice('Bearer '.length));
    if (exp * 1_000 <= Date.now() || typ !== (bearer === 'id' ? 'ID' : 'Bearer')) {
      const refusal = { kind: 'Status', code: 401, reason: 'auth.token-expired', message: 'The bearer token expired' };
      return { status: 401, body: { ...refusal, errors: [], requestId: '1' } };
    }
    const roles = [{ namespace: 'default', role: 'operator' }];
    return {
      body: { kind: 'Whoami', name, tokenId: 'oidc1', actor: `user/${String(name)}#oidc1`, roles, signedIn: true },
    };
  });
};

const ioFor = () => fakeIo({ env: { XDG_CONFIG_HOME: home }, cwd: home, nowMs: Date.now() });
const as = (args: readonly string[]) => run(args, ioFor());
const file = () => join(home, 'fairlead', 'contexts.json');
const contexts = () => (JSON.parse(readFileSync(file(), 'utf8')) as Contexts).contexts;

/** Runs the command while a user signs in at the address that it prints. */
const login = async (user: string, args: readonly string[] = []) => {
  const io = ioFor();
  const running = run(['login', 'prod', '--server', gateway.url, ...args], io);
  const address = await eventually(() => /^Open (\S+)/m.exec(io.stderr())?.[1]);
  const last = await signInAt(issuer.ca, address, user, 'http://127.0.0.1:');
  if (last.protocol === 'http:') await new Promise((resolve) => get(last, resolve));
  return running;
};

describe('fairlead login', () => {
  it('prints an address and a code, waits for the user, and keeps the tokens with mode 0600', async () => {
    const { code, stdout, stderr } = await login('alice');
    expect([code, stdout]).toEqual([0, 'Signed in as alice in the context prod: operator in default.\n']);
    expect(stderr).toMatch(/^Open https:\S+\nin any browser, and sign in with the code [0-9A-F]{8}\n/);
    const { prod } = contexts();
    expect(prod).toMatchObject({ server: gateway.url, signedIn: { issuer: issuer.issuerUrl, bearer: 'id' } });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const shown = [await as(['context', 'list']), await as(['context', 'show', '-o', 'json']), await as(['whoami'])];
    for (const { stdout: text } of shown) {
      expect(text).not.toContain(prod?.signedIn?.token);
      expect(text).not.toContain(prod?.signedIn?.refreshToken);
    }
    expect(shown[2]?.stdout).toContain('alice');
  });

  it('with --browser comes back over loopback, and is not fooled by another answer', async () => {
    const io = ioFor();
    const running = run(['login', 'prod', '--server', gateway.url, '--browser'], io);
    const address = await eventually(() => /^Open (\S+)/m.exec(io.stderr())?.[1]);
    const asked = new URL(address).searchParams;
    expect([asked.get('code_challenge_method'), asked.get('redirect_uri')]).toEqual([
      'S256',
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    ]);
    const forged = `${asked.get('redirect_uri')}?code=stolen&state=guessed`;
    const status = await new Promise((resolve) => get(forged, (response) => resolve(response.resume().statusCode)));
    expect(status).toBe(404);
    const last = await signInAt(issuer.ca, address, 'alice', 'http://127.0.0.1:');
    await new Promise((resolve) => get(last, (response) => resolve(response.resume())));
    expect((await running).stdout).toContain('Signed in as alice');
  });

  it('sends the token that the server takes', async () => {
    answer('access');
    expect((await login('alice')).code).toBe(0);
    expect(contexts()['prod']?.signedIn).toMatchObject({ bearer: 'access' });
  });

  it('is refreshed before the token ends, by one of two commands at once', async () => {
    issuer.tokenSeconds = 15;
    await login('alice');
    const first = contexts()['prod']?.signedIn;
    issuer.tokenSeconds = 300;
    const both = await Promise.all([as(['whoami']), as(['whoami'])]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(contexts()['prod']?.signedIn?.token).not.toBe(first?.token);
    const sent = gateway.received.slice(-2).map(({ headers }) => headers.authorization);
    expect(new Set(sent).size).toBe(1);
  });

  it('that has ended at the issuer says so', async () => {
    await issuer.setEnabled('bert', true);
    issuer.tokenSeconds = 15;
    await login('bert');
    await issuer.setEnabled('bert', false);
    const { code, stderr } = await as(['whoami']);
    expect([stderr, code]).toEqual([expect.stringContaining('The sign-in of the context prod has ended'), 4]);
    expect(stderr).toContain('fairlead login prod');
  });

  it('needs a context to keep the sign-in in, and a server that has an issuer', async () => {
    expect((await as(['login'])).code).toBe(2);
    const refusal = {
      kind: 'Status',
      code: 404,
      reason: 'issuer.none',
      message: 'no sign-in',
      errors: [],
      requestId: '1',
    };
    gateway.on('GET', '/sign-in/issuer', { status: 404, body: refusal });
    expect((await as(['login', 'prod', '--server', gateway.url])).code).toBe(5);
  });
});

describe('fairlead logout', () => {
  it('deletes the tokens, ends the sign-in at the issuer, and leaves the context', async () => {
    await login('alice');
    const { signedIn } = contexts()['prod'] ?? {};
    const { code, stdout } = await as(['logout']);
    expect([code, stdout]).toEqual([0, 'Signed out of the context prod.\n']);
    expect(contexts()['prod']).toEqual({ server: gateway.url });
    expect(readFileSync(file(), 'utf8')).not.toContain(signedIn?.refreshToken);
    expect((await as(['logout'])).stdout).toContain('is not signed in');
  });
});
