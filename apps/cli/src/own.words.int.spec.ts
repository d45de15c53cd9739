import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { exitClassOfStatus } from './exit-codes.js';
import { wordsOf } from './failures.js';
import { FakeGateway, refusal } from './spec/gateway.fixtures.js';
import { fakeIo, run, type Ran } from './spec/io.fixtures.js';

let gateway: FakeGateway;
let folder: string;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  folder = newFolder('words');
});
afterEach(async () => {
  await gateway.stop();
  removeFolder(folder);
});

const ask = (args: readonly string[], stdin = ''): Promise<Ran> =>
  run(['--server', gateway.url, ...args], fakeIo({ cwd: folder, stdin }));

describe('a refusal of the server', () => {
  const create = ['cluster', 'create', 'demo', '--connection', 'lab', '--machine-type', 'm'];
  const cni = refusal(400, 'cluster.cni', 'There is no network x.', { field: 'config.kubernetes.networkCni' });

  it('names the option of the command line, not the field in the request', async () => {
    gateway.on('POST', '/ns/default/clusters', cni);
    expect((await ask([...create, '--cni', 'x'])).stderr).toContain('  Option: --cni\n');
    gateway.on('GET', '/ns/default/clusters/demo', refusal(400, 'read.moment', 'No such event.', { field: 'at' }));
    expect((await ask(['cluster', 'describe', 'demo', '--at', '99'])).stderr).toContain('  Option: --at\n');
  });

  it("names the field in the user's file", async () => {
    gateway.on('POST', '/ns/default/clusters', cni);
    const stdin = 'name: demo\ncontrolPlane: [{ connection: lab, count: 1, spec: s }]\n';
    expect((await ask(['cluster', 'create', '--ladybug', '-f', '-'], stdin)).stderr).toContain(
      'Field: config.kubernetes.networkCni',
    );
  });

  it('is not reported as an outage if its status is 503', async () => {
    const path = '/ns/default/clusters/demo';
    gateway.on('GET', path, refusal(503, 'cluster.kubeconfig-failed', 'It failed.'));
    expect((await ask(['cluster', 'get', 'demo'])).code).toBe(1);
    gateway.on('GET', path, refusal(503, 'system.unavailable', 'PostgreSQL does not answer.'));
    expect((await ask(['cluster', 'get', 'demo'])).code).toBe(3);
  });
});

it.each([
  [401, undefined, 'unauthorised'],
  [403, 'access.denied', 'unauthorised'],
  [404, 'cluster.unknown', 'not-found'],
  [409, 'cluster.busy', 'conflict'],
  [400, 'request.invalid', 'refused'],
  [422, undefined, 'refused'],
  [502, undefined, 'unreachable'],
  [503, undefined, 'unreachable'],
  [503, 'system.unavailable', 'unreachable'],
  [503, 'autoscaler.not-served', 'failed'],
  [504, undefined, 'unreachable'],
  [500, undefined, 'failed'],
] as const)('a response with the status %d and the code %s ends the command as %s', (status, code, exit) =>
  expect(exitClassOfStatus(status, code)).toBe(exit),
);

describe('error messages of libraries and the system', () => {
  it.each([
    [['cluster', 'create', '-f', 'none.yaml']],
    [['cluster', 'create', '--ladybug', '-f', 'none.yaml']],
    [['apply', '-f', 'none.yaml']],
    [['upgrade', 'plan', 'demo', '--reboot', '--strategy', 'none.yaml']],
    [['connection', 'register', 'site', '--provider', 'ssh', '--settings-file', 'none.yaml']],
    [['connection', 'register', 'site', '--provider', 'ssh', '--secret-file', 'none.key']],
  ])('for a missing file are replaced with our own (%j)', async (args) => {
    const { code, stderr } = await ask(args);
    expect(code).not.toBe(0);
    expect(stderr).not.toMatch(/ENOENT|syscall|\bstat\b|\bopen '/);
    expect(stderr).toMatch(/no such file|There is no|does not exist/i);
  });

  it('for text that is not JSON, and for a server without TLS, are replaced', () => {
    const parsed = (): unknown => JSON.parse('{ x }');
    expect(parsed).toThrow();
    try {
      parsed();
    } catch (error) {
      expect(wordsOf(error)).toMatch(/^it is not valid JSON/);
    }
    const tls = Object.assign(
      new Error('write EPROTO 80:error:0A00010B:SSL routines:../deps/openssl/ssl3_record.c:354:'),
      {
        code: 'EPROTO',
      },
    );
    expect(wordsOf(new TypeError('fetch failed', { cause: tls }))).toBe(
      'it does not answer in TLS: use http:// for this address',
    );
    expect(
      wordsOf(Object.assign(new Error(`ENOENT: no such file, open '${join(folder, 'x')}'`), { code: 'ENOENT' })),
    ).toBe('there is no such file or folder');
  });
});

it('an upgrade without changes names the options that specify them', async () => {
  const { code, stderr } = await ask(['upgrade', 'plan', 'demo']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--to, --software, --certificates and --reboot')]);
});

it('upgrade list hides dry runs, and shows them with --all', async () => {
  const upgrade = (id: string, mode: string) => ({
    ...{ id, mode, phase: 'Completed', message: '', actor: 'user/ada', elapsedMs: null, predictedMs: null },
    ...{ nodesDone: 1, nodesTotal: 1, target: { kubernetes: 'v1.35.4', renewCertificates: false, reboot: false } },
  });
  const items = [upgrade('u-dry', 'dry-run'), upgrade('u-real', 'ask')];
  gateway.on('GET', '/ns/default/clusters/demo/upgrades', { body: { items } });
  expect((await ask(['upgrade', 'list', 'demo', '-o', 'name'])).stdout).toBe('u-real\n');
  expect((await ask(['upgrade', 'list', 'demo', '--all', '-o', 'name'])).stdout).toBe('u-dry\nu-real\n');
});
