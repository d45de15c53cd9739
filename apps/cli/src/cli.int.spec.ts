import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeGateway, refusal } from './spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from './spec/io.fixtures.js';

let gateway: FakeGateway;
let folder: string;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  folder = newFolder('cli');
});

afterEach(async () => {
  await gateway.stop();
  removeFolder(folder);
});

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);
describe('the server and its token', () => {
  const instance = (server: string): string => {
    const dataDir = join(folder, '.fairlead');
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(join(dataDir, 'local.token'), 'local-token\n', { mode: 0o600 });
    writeFileSync(
      join(dataDir, 'instance.json'),
      JSON.stringify({
        format: 1,
        server,
        tokenFile: join(dataDir, 'local.token'),
        dataDir,
        process: { pid: 1, birth: null },
        startedAt: '2026-11-21T08:00:00.000Z',
        version: '0.1.0',
      }),
      { mode: 0o600 },
    );
    return dataDir;
  };

  it('are those of the local instance, found from any subfolder', async () => {
    instance(gateway.url);
    gateway.on('GET', '/ns/default/clusters', { body: { items: [] } });
    const below = join(folder, 'a', 'b');
    mkdirSync(below, { recursive: true });
    const { code, stdout } = await run(['cluster', 'list'], fakeIo({ cwd: below }));
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'There are no clusters in this namespace.\n' });
    expect(gateway.received[0]?.headers.authorization).toBe('Bearer local-token');
  });

  it('are never combined if another server was named', async () => {
    instance('http://127.0.0.1:1');
    gateway.on('GET', '/ns/default/clusters', { body: { items: [] } });
    await ask(['cluster', 'list'], fakeIo({ cwd: folder }));
    expect(gateway.received[0]?.headers.authorization).toBeUndefined();
  });

  it.each([
    ['instance.json', 0o620, (dataDir: string) => join(dataDir, 'instance.json')],
    ['the folder', 0o777, (dataDir: string) => dataDir],
    ['the token', 0o666, (dataDir: string) => join(dataDir, 'local.token')],
  ])('are not read from a folder that others may write %s; nothing is sent', async (_what, mode, pathIn) => {
    const dataDir = instance(gateway.url);
    chmodSync(pathIn(dataDir), mode);
    const { code, stderr } = await run(['cluster', 'list'], fakeIo({ cwd: folder }));
    expect(code).toBe(4);
    expect(stderr).toContain(`The instance folder is not trusted: ${pathIn(dataDir)} can be written by other users`);
    expect(gateway.received).toEqual([]);
  });

  (process.getuid?.() === 0 ? it : it.skip)('are not those of another user, not even for root', async () => {
    const dataDir = instance(gateway.url);
    chownSync(dataDir, 12_345, 12_345);
    const { code, stderr } = await run(['cluster', 'list'], fakeIo({ cwd: folder }));
    expect(code).toBe(4);
    expect(stderr).toContain(`${dataDir} belongs to user 12345, and this is user 0`);
    expect(gateway.received).toEqual([]);
  });

  it('are read from the environment', async () => {
    gateway.on('GET', '/ns/team-a/clusters', { body: { items: [] } });
    const env = { FAIRLEAD_SERVER: gateway.url, FAIRLEAD_TOKEN: 'from-env', FAIRLEAD_NAMESPACE: 'team-a' };
    expect((await run(['cluster', 'list'], fakeIo({ env }))).code).toBe(0);
    expect(gateway.received[0]?.headers.authorization).toBe('Bearer from-env');
  });

  it('that do not exist exit with 3, and advice', async () => {
    expect(await run(['cluster', 'list', '--data', folder], fakeIo())).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('Start one with "fairlead up"'),
    });
  });

  it('of an instance that has ended exit with 3, and name its folder', async () => {
    const dataDir = instance('http://127.0.0.1:1');
    const { code, stderr } = await run(['cluster', 'list'], fakeIo({ cwd: folder }));
    expect(code).toBe(3);
    expect(stderr).toContain(`The Fairlead of ${dataDir} has ended; start it again`);
  });

  it('that cannot be read exit with 4', async () => {
    const { code, stderr } = await ask(['cluster', 'list', '--token-file', join(folder, 'none')]);
    expect(code).toBe(4);
    expect(stderr).toContain('it does not exist');
  });

  it('are distinguished from a server that is not a gateway', async () => {
    gateway.on('GET', '/ns/default/clusters', { body: '<html>' });
    const { code, stderr } = await ask(['cluster', 'list']);
    expect(code).toBe(1);
    expect(stderr).toContain('does not answer as a Fairlead gateway does');
  });
});

describe('a refusal', () => {
  it.each([
    [401, 'auth.token-missing', 4],
    [403, 'auth.role-missing', 4],
    [404, 'cluster.unknown', 5],
    [409, 'cluster.name-taken', 6],
    [400, 'cluster.name-invalid', 7],
    [422, 'cluster.spec-unknown', 7],
    [503, 'system.unavailable', 3],
  ])('of HTTP %d (%s) exits with %d and the message of the server', async (status, reason, exit) => {
    gateway.on('GET', '/ns/default/clusters/demo', refusal(status, reason, 'No, because.'));
    expect(await ask(['cluster', 'get', 'demo'])).toEqual({
      code: exit,
      stdout: '',
      stderr: `Error: No, because. [${reason}]\n  What can be done.\n`,
    });
  });

  it('names the field, and all other faults, each sentence once', async () => {
    const field = 'config.kubernetes.podCidr';
    const first = { reason: 'cluster.pod-cidr', message: 'First.', field, help: 'See GET /ns.' };
    const second = { reason: 'cluster.name', message: 'Second.', help: '' };
    const again = { ...second, field: 'worker[1].name' };
    const errors = [first, second, { ...second, field: 'worker[0].name' }, again];
    gateway.on('POST', '/ns/default/clusters', refusal(400, first.reason, first.message, { ...first, errors }));
    expect((await ask(['cluster', 'create', 'demo', '--connection', 'lab', '--machine-type', 's'])).stderr).toBe(
      'Error: First. [cluster.pod-cidr]\n  Option: --pod-cidr\n  See "fairlead namespace list".\n' +
        'Error: Second. [cluster.name]\n  Fields: worker[0].name, worker[1].name\n',
    );
    const { stderr } = await ask([
      'cluster',
      'create',
      'demo',
      '--connection',
      'lab',
      '--machine-type',
      's',
      '-o',
      'json',
    ]);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { field, further: [{ code: 'cluster.name' }, { field: 'worker[0].name' }, { field: 'worker[1].name' }] },
    });
  });

  it('is JSON on standard error if JSON was requested', async () => {
    gateway.on('GET', '/ns/default/clusters/demo', refusal(404, 'cluster.unknown', 'No such cluster'));
    const { stdout, stderr } = await ask(['cluster', 'get', 'demo', '-o', 'json']);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'cluster.unknown',
        message: 'No such cluster',
        help: 'What can be done.',
        exitCode: 5,
        class: 'not-found',
      },
    });
  });

  it('by a proxy is reported with its status', async () => {
    gateway.on('GET', '/ns/default/clusters/demo', { status: 502, body: '<html>Bad Gateway' });
    expect(await ask(['cluster', 'get', 'demo'])).toMatchObject({ code: 3, stderr: expect.stringContaining('502') });
  });
});
