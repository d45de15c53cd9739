import { createServer, type Server } from 'node:http';
import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { RELEASE_CATALOGUE_FORMAT, releaseOf } from '@fairlead/contracts';
import { newSigningKey } from '@fairlead/mirror';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ReleaseView } from '../api/views.js';
import { FakeGateway } from '../spec/gateway.fixtures.js';
import { run, type Ran } from '../spec/io.fixtures.js';

const view = (version: string, changes: Partial<ReleaseView> = {}): ReleaseView =>
  ({
    kind: 'Release',
    ...releaseOf('v1.34.4')!,
    version,
    origin: 'built-in',
    withdrawn: null,
    ...changes,
  }) as ReleaseView;

const CATALOGUE = `${JSON.stringify({
  format: RELEASE_CATALOGUE_FORMAT,
  sequence: 7,
  expires: '2100-01-01T00:00:00Z',
  releases: [{ ...releaseOf('v1.34.4')!, version: 'v1.34.12', verified: 'listed' }],
})}\n`;
const IMPORT = '/release-signers/catalogue';
const SIGNERS = { kind: 'ReleaseSigners', signers: ['ed25519:a'], catalogues: [] };

let gateway: FakeGateway;
let folder: string;
beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  folder = newFolder('cli-release');
});
afterEach(async () => {
  await gateway.stop();
  removeFolder(folder);
});

const release = (...args: readonly string[]): Promise<Ran> => run(['--server', gateway.url, 'release', ...args]);

const written = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

describe('fairlead release', () => {
  it('list shows how each release was tested, and which are withdrawn, optionally for one minor version', async () => {
    const items = [
      view('v1.34.5', { verified: 'listed', withdrawn: 'CVE-2026-0001' }),
      view('v1.34.4'),
      view('v1.33.13'),
    ];
    gateway.on('GET', '/releases', { body: { kind: 'ReleaseList', items } });
    const { stdout } = await release('list', '--minor', '1.34');
    expect(stdout).toMatch(/v1\.34\.5 +listed .* withdrawn: CVE-2026-0001/);
    expect(stdout).toMatch(/v1\.34\.4 +real /);
    expect(stdout).not.toContain('v1.33.13');
    const json = await release('list', '--output', 'json');
    expect(JSON.parse(json.stdout)).toHaveLength(3);
  });

  it('add takes defaults from the latest known earlier patch, except for digests', async () => {
    const before = view('v1.34.11', { etcd: '3.6.7-0' });
    gateway.on('GET', '/releases', {
      body: { kind: 'ReleaseList', items: [view('v1.35.1'), before, view('v1.34.4')] },
    });
    gateway.on('PUT', '/releases/v1.34.12', { body: view('v1.34.12', { origin: 'added', sha256: null }) });
    const { code, stdout } = await release('add', '1.34.12', '--coredns', 'v1.12.2');
    expect(code).toBe(0);
    const { kubeadmApi, etcd, pause, containerd, cniPlugins } = before;
    expect(gateway.asked('PUT', '/releases/v1.34.12')[0]?.body).toEqual({
      ...{ kubeadmApi, etcd, coredns: 'v1.12.2', pause, containerd, cniPlugins },
      ...{ verified: 'listed', sha256: null },
    });
    expect(stdout).toContain('SHA-256 of its programs: not known');
  });

  it('add of an unknown minor version requires a base release', async () => {
    gateway.on('GET', '/releases', { body: { kind: 'ReleaseList', items: [view('v1.36.4')] } });
    expect(await release('add', 'v1.37.2')).toMatchObject({ stderr: expect.stringContaining('--like') });
    expect(gateway.asked('PUT', '/releases/v1.37.2')).toEqual([]);
  });

  it('import sends a file unchanged, with its signatures', async () => {
    const file = written('releases.json', CATALOGUE);
    written('releases.json.sig', 'signatures\n');
    gateway.on('POST', IMPORT, { body: SIGNERS });
    for (const source of [file, folder]) expect((await release('import', source)).code).toBe(0);
    const body = { catalogue: CATALOGUE, signatures: 'signatures\n' };
    expect(gateway.asked('POST', IMPORT).map((asked) => asked.body)).toEqual([body, body]);
  });

  it('import sends nothing if a catalogue has no signatures or is too large', async () => {
    const file = written('releases.json', CATALOGUE);
    expect((await release('import', file)).stderr).toContain('has no releases.json.sig');
    written('releases.json.sig', 'signatures\n');
    written('releases.json', ' '.repeat(200_001));
    expect((await release('import', file)).stderr).toContain('too large');
    expect(gateway.asked('POST', IMPORT)).toEqual([]);
  });

  it('sign writes a signature next to a catalogue, and refuses other files', async () => {
    const key = written('key.pem', newSigningKey().privateKey);
    const file = written('releases.json', CATALOGUE);
    expect((await run(['release', 'sign', file, '--key', key])).code).toBe(0);
    expect(readFileSync(`${file}.sig`, 'utf8')).toMatch(/^ed25519:\S+ \S+\n$/);
    const other = written('other.json', '{}');
    expect((await run(['release', 'sign', other, '--key', key])).stderr).toContain('cannot be used');
  });
});

describe('a catalogue at a URL', () => {
  let server: Server;
  let url: string;
  beforeEach(async () => {
    server = createServer(({ url: path }, response) => {
      if (path === '/a/releases.json') response.end(CATALOGUE);
      else if (path === '/a/releases.json.sig') response.end('signatures\n');
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  it('is imported from the URL of the file and from that of a mirror', async () => {
    gateway.on('POST', IMPORT, { body: SIGNERS });
    expect((await release('import', `${url}/a/releases.json`)).code).toBe(0);
    expect((await release('import', `${url}/a`)).code).toBe(0);
    expect((await release('import', `${url}/b`)).stderr).toContain('has no releases.json');
    expect(gateway.asked('POST', IMPORT)).toHaveLength(2);
  });
});
