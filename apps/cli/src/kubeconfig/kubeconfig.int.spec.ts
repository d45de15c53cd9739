import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';

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
describe('kubeconfig', () => {
  const text = 'apiVersion: v1\nclusters: [{ name: demo, cluster: {} }]\nusers: [{ name: admin, user: {} }]\n';

  beforeEach(() => void gateway.on('GET', '/ns/default/clusters/demo/kubeconfig', { body: text }));

  it('is printed on standard output', async () => expect((await ask(['kubeconfig', 'demo'])).stdout).toBe(text));

  it('is written to a file that only its owner may read', async () => {
    const file = join(folder, 'demo.yaml');
    expect((await ask(['kubeconfig', 'demo', '-o', file])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is not written to a file whose name is an output format', async () => {
    const { code, stderr } = await ask(['kubeconfig', 'demo', '-o', 'yaml'], fakeIo({ cwd: folder }));
    expect([code, stderr]).toEqual([2, expect.stringContaining('-o names a file here, and yaml is an output format')]);
    expect(existsSync(join(folder, 'yaml'))).toBe(false);
  });

  it.each(['1m', '25h', 'soon'])('is not requested with a lifetime of %s', async (ttl) => {
    const { code, stderr } = await ask(['kubeconfig', 'demo', '--ttl', ttl]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('Give a duration from 10m to 24h')]);
  });

  it('is requested with the validity of its certificate, or as the administrator', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/kubeconfig', ({ query }) => ({ body: `ttl ${query['ttlSeconds']}` }));
    gateway.on('GET', '/ns/default/clusters/demo/kubeconfig/administrator', { body: 'all' });
    expect((await ask(['kubeconfig', 'demo', '--ttl', '30m'])).stdout).toContain('ttl 1800');
    expect((await ask(['kubeconfig', 'demo', '--administrator'])).stdout).toContain('all');
    expect((await ask(['kubeconfig', 'demo', '--administrator', '--ttl', '30m'])).stderr).toContain(
      'exclude each other',
    );
  });

  it('for users who sign in by OpenID Connect has no certificate, and no expiry', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/kubeconfig/oidc', { body: 'exec' });
    expect((await ask(['kubeconfig', 'demo', '--oidc'])).stdout).toContain('exec');
    for (const other of [['--ttl', '30m'], ['--administrator']])
      expect((await ask(['kubeconfig', 'demo', '--oidc', ...other])).stderr).toContain(`and ${other[0]} exclude each`);
  });

  it("is merged into kubectl's file", async () => {
    const file = join(folder, 'config');
    const { stdout } = await ask(['kubeconfig', 'demo', '--merge'], fakeIo({ env: { KUBECONFIG: `${file}:/other` } }));
    expect(stdout).toContain('the current context is default-demo');
    expect(readFileSync(file, 'utf8')).toContain('current-context: default-demo');
  });
});
