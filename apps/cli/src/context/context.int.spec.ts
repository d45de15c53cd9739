import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterView, FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run } from '../spec/io.fixtures.js';

const [prod, site] = [new FakeGateway(), new FakeGateway()];
const WHO = { kind: 'Whoami', name: 'anna', tokenId: '1', actor: 'user/anna#1', roles: [] };
let home: string;

beforeEach(async () => {
  home = newFolder('context');
  for (const gateway of [prod, site]) {
    await gateway.start();
    gateway.received.length = 0;
    gateway.on('GET', '/whoami', { body: WHO });
    gateway.on('GET', '/ns/team-a/clusters', { body: { items: [clusterView({ namespace: 'team-a' })] } });
  }
});
afterEach(async () => {
  for (const gateway of [prod, site]) await gateway.stop();
  removeFolder(home);
});

const as = (args: readonly string[], env = {}, stdin = '') =>
  run(args, fakeIo({ env: { XDG_CONFIG_HOME: home, ...env }, cwd: home, stdin }));
const file = () => join(home, 'fairlead', 'contexts.json');
const setProd = () =>
  as(['context', 'set', 'prod', '--server', prod.url, '--token-stdin', '-n', 'team-a', '--use'], {}, 'stored-secret\n');
const tokenSent = ({ received }: FakeGateway) => received.at(-1)?.headers.authorization;

describe('fairlead context', () => {
  it('stores a token with mode 0600, and never prints it', async () => {
    const texts = [await setProd(), await as(['context', 'list']), await as(['context', 'show'])];
    const all = [...texts, await as(['context', 'list', '-o', 'json']), await as(['context', 'show', '-o', 'yaml'])];
    expect(all.map(({ code, stdout, stderr }) => [code, /stored-secret/.test(stdout + stderr)])).toEqual(
      all.map(() => [0, false]),
    );
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(texts[1]?.stdout).toMatch(/\* +prod +http:\S+ +team-a +stored/);
  });

  it('shows which server, namespace and credentials commands use', async () => {
    await setProd();
    expect((await as(['cluster', 'list', '-o', 'name'])).stdout).toBe('demo\n');
    expect(tokenSent(prod)).toBe('Bearer stored-secret');
    expect((await as(['whoami'])).stdout).toContain(`${prod.url} (context prod)`);
  });

  it('has lower precedence than flags and environment, and higher than the local instance', async () => {
    await setProd();
    writeFileSync(join(home, 'site.token'), 'site-token');
    await as(['context', 'set', 'site', '--server', site.url, '--token-file', 'site.token']);
    const servers: readonly (readonly [readonly string[], object, FakeGateway, string | undefined])[] = [
      [[], {}, prod, 'Bearer stored-secret'],
      [['--context', 'site'], {}, site, 'Bearer site-token'],
      [[], { FAIRLEAD_CONTEXT: 'site' }, site, 'Bearer site-token'],
      [[], { FAIRLEAD_SERVER: site.url }, site, undefined],
      [['--server', site.url], {}, site, undefined],
      [['--server', site.url], { FAIRLEAD_CONTEXT: 'prod' }, site, undefined],
      [['--context', 'prod'], { FAIRLEAD_SERVER: site.url, FAIRLEAD_TOKEN: 'of-site' }, prod, 'Bearer stored-secret'],
      [[], { FAIRLEAD_TOKEN: 'from-environment' }, prod, 'Bearer from-environment'],
      [['--token-file', join(home, 'site.token')], {}, prod, 'Bearer site-token'],
    ];
    for (const [args, env, expected, token] of servers) {
      for (const gateway of [prod, site]) gateway.received.length = 0;
      expect([args, env, (await as(['whoami', ...args], env)).code]).toEqual([args, env, 0]);
      expect([args, env, expected.received.length, tokenSent(expected)]).toEqual([args, env, 1, token]);
    }
  });

  it('never sends the credentials for one server to another', async () => {
    await setProd();
    await as(['context', 'set', 'prod', '--server', site.url]);
    expect(readFileSync(file(), 'utf8')).not.toContain('stored-secret');
    await as(['whoami']);
    expect(tokenSent(site)).toBeUndefined();
  });

  it('changes only the given fields, and deletes a context with its token', async () => {
    await setProd();
    await as(['context', 'set', 'prod', '-n', 'team-b']);
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({
      current: 'prod',
      contexts: { prod: { server: prod.url, namespace: 'team-b', token: 'stored-secret' } },
    });
    await as(['context', 'delete', 'prod']);
    expect(readFileSync(file(), 'utf8')).toBe('{\n  "format": 1,\n  "current": null,\n  "contexts": {}\n}\n');
  });

  it('does not lose concurrent changes', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `c${index}`);
    await Promise.all(names.map((name) => as(['context', 'set', name, '--server', prod.url])));
    expect((await as(['context', 'list', '-o', 'name'])).stdout.split('\n').filter(Boolean).toSorted()).toEqual(
      names.toSorted(),
    );
    expect(existsSync(`${file()}.lock`)).toBe(false);
  });

  it('ignores the lock of a killed command', async () => {
    await setProd();
    writeFileSync(`${file()}.lock`, '');
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(`${file()}.lock`, longAgo, longAgo);
    expect((await as(['context', 'unset'])).code).toBe(0);
  });

  it.each([
    ['damaged', '{"format": 1,', 1, 'cannot be used'],
    ['of a later release', '{"format": 2, "current": null, "contexts": {}}', 1, 'written by another release'],
  ])('does not overwrite a file that is %s', async (_what, text, code, words) => {
    await setProd();
    writeFileSync(file(), text);
    for (const args of [['context', 'set', 'x', '--server', prod.url], ['whoami']])
      expect(await as(args)).toMatchObject({ code, stderr: expect.stringContaining(words) });
    expect(readFileSync(file(), 'utf8')).toBe(text);
  });

  it('does not trust a file that others can read or write', async () => {
    await setProd();
    chmodSync(file(), 0o644);
    expect(await as(['whoami'])).toMatchObject({ code: 4, stderr: expect.stringContaining(`chmod 600 ${file()}`) });
    chmodSync(file(), 0o666);
    expect(await as(['whoami'])).toMatchObject({ code: 4, stderr: expect.stringContaining('is not trusted') });
  });

  it.each([
    [['context', 'use', 'none'], 5, 'There is no context none'],
    [['whoami', '--context', 'none'], 5, 'There is no context none'],
    [['whoami', '--context', '__proto__'], 5, 'There is no context __proto__'],
    [['context', 'set', '../x', '--server', 'http://x'], 2, 'is not a name of a context'],
    [['context', 'set', 'x'], 2, 'needs --server'],
    [['context', 'set', 'x', '--server', 'ftp://x'], 2, 'is not the address of a server'],
    [['whoami', '--context', 'x', '--server', 'http://x'], 2, 'exclude each other'],
  ])('refuses %j', async (args, code, words) => {
    mkdirSync(join(home, 'fairlead'), { mode: 0o700, recursive: true });
    expect(await as(args)).toMatchObject({ code, stderr: expect.stringContaining(words) });
  });

  it('is empty without a home folder, and can be unset', async () => {
    await setProd();
    expect((await as(['context', 'unset'])).code).toBe(0);
    expect((await as(['whoami'])).code).toBe(3);
    expect((await run(['context', 'list'], fakeIo())).stdout).toContain('There are no contexts');
  });
});

describe('fairlead whoami', () => {
  it('shows the roles and the expiry of the token', async () => {
    prod.on('GET', '/whoami', {
      body: {
        ...WHO,
        roles: [
          { namespace: '*', role: 'viewer' },
          { namespace: 'team-a', role: 'operator' },
        ],
        expiresAt: '2026-11-21T11:30:00.000Z',
      },
    });
    const { stdout } = await as(['whoami', '--server', prod.url]);
    expect(stdout).toContain(
      'user     anna (token 1)\nroles    viewer in all namespaces\n         operator in team-a\n',
    );
    expect(stdout).toContain('expires  2026-11-21T11:30:00.000Z (in 2h30m');
  });
});
