import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mirrorPaths } from '@fairlead/contracts';
import { writeSampleMirror } from '@fairlead/mirror/testing';
import { newFolder, removeFolder } from '@fairlead/testing';
import { fakeIo, run } from '../spec/io.fixtures.js';

let folder: string;
let cache: string;

beforeEach(() => {
  folder = newFolder('cli-bundle');
  cache = join(folder, 'cache');
  writeSampleMirror(join(cache, 'kubernetes'));
});
afterEach(() => removeFolder(folder));

const io = (isLive = false) => fakeIo({ cwd: folder, env: { FAIRLEAD_CACHE: cache }, isLive });

describe('fairlead bundle create', () => {
  it('packs the mirror of this machine, and prints the SHA-256 for the connection', async () => {
    const { code, stdout } = await run(['bundle', 'create', '1.34.4'], io());
    const sha256 = createHash('sha256')
      .update(readFileSync(join(folder, 'kubernetes-v1.34.4.tar.gz')))
      .digest('hex');
    expect(code).toBe(0);
    expect(stdout).toContain(`SHA-256 ${sha256}`);
    expect(stdout).toContain('etcd 3.6.8, which stands in for 3.6.5');
  });

  it('prints JSON for programs, and its progress on a terminal', async () => {
    const terminal = io(true);
    const args = ['bundle', 'create', 'v1.33.13', 'v1.34.4', '--from', 'cache/kubernetes', '--unsigned', '-o', 'k.tgz'];
    const { stdout } = await run([...args, '--output', 'json'], terminal);
    expect(JSON.parse(stdout)).toMatchObject({
      file: join(folder, 'k.tgz'),
      releases: [{ version: 'v1.33.13' }, { version: 'v1.34.4' }],
    });
    expect(terminal.drawn().at(-1)).toMatch(/^100 %/);
  });

  it('refuses a tampered mirror, names the file, and writes nothing', async () => {
    writeFileSync(join(cache, 'kubernetes', mirrorPaths.image('v1.34.4', 'etcd')), 'etcd for v1.34.X');
    const { code, stderr } = await run(['bundle', 'create', 'v1.34.4'], io());
    expect(code).toBe(1);
    expect(stderr).toContain('verify images/v1.34.4/etcd.tar');
    expect(existsSync(join(folder, 'kubernetes-v1.34.4.tar.gz'))).toBe(false);
  });

  it('states how to build a mirror if there is none', async () => {
    rmSync(cache, { recursive: true });
    const { code, stderr } = await run(['bundle', 'create', 'v1.34.4'], io());
    expect(code).toBe(1);
    expect(stderr).toContain('npm run kubernetes:build');
  });

  it('ends as interrupted at Ctrl-C', async () => {
    const pressed = io();
    pressed.pressCtrlC();
    const { code } = await run(['bundle', 'create', 'v1.34.4'], pressed);
    expect(code).toBe(130);
    expect(existsSync(join(folder, 'kubernetes-v1.34.4.tar.gz'))).toBe(false);
  });
});

describe('fairlead bundle inspect', () => {
  it('lists the contents of a bundle, and refuses other files', async () => {
    await run(['bundle', 'create', 'v1.34.4', '-o', 'k.tar.gz'], io());
    const { code, stdout } = await run(['bundle', 'inspect', 'k.tar.gz'], io());
    expect(code).toBe(0);
    expect(stdout).toContain('Kubernetes v1.34.4');
    writeFileSync(join(folder, 'k.tar.gz'), 'something else');
    expect((await run(['bundle', 'inspect', 'k.tar.gz'], io())).code).toBe(1);
    expect((await run(['bundle', 'inspect', 'none.tar.gz'], io())).code).toBe(2);
  });
});

describe('signatures of bundles and mirrors', () => {
  const keyOf = async (name: string): Promise<string> => (await run(['bundle', 'key', name], io())).stdout.trim();
  const verified = (target: string, key: string) => run(['bundle', 'verify', target, '--signed-by', key], io());

  it('are made with a key that stays on this machine, and verified with its public half', async () => {
    const key = await keyOf('signing.pem');
    expect(key).toMatch(/^ed25519:[A-Za-z0-9+/]{43}=$/);
    expect(await keyOf('signing.pem')).toBe(key);
    expect(statSync(join(folder, 'signing.pem')).mode & 0o777).toBe(0o600);
    expect((await run(['bundle', 'create', 'v1.34.4', '-o', 'k.tgz', '--key', 'signing.pem'], io())).code).toBe(0);
    expect((await verified('k.tgz', key)).code).toBe(0);
    const other = await verified('k.tgz', await keyOf('other.pem'));
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('none of the keys')]);
  });

  it('are refused on a bundle that was recreated', async () => {
    const key = await keyOf('signing.pem');
    await run(['bundle', 'create', 'v1.34.4', '-o', 'k.tgz'], io());
    expect((await verified('k.tgz', key)).stderr).toContain('it is not signed');
    expect((await run(['bundle', 'sign', 'k.tgz', '--key', 'signing.pem'], io())).code).toBe(0);
    expect((await verified('k.tgz', key)).code).toBe(0);
    await run(['bundle', 'create', 'v1.33.13', '-o', 'other.tgz'], io());
    writeFileSync(join(folder, 'k.tgz'), readFileSync(join(folder, 'other.tgz')));
    expect((await verified('k.tgz', key)).code).toBe(1);
  });

  it("are required for every mirror except the user's own, unless --unsigned is given", async () => {
    const create = (...more: readonly string[]) =>
      run(['bundle', 'create', 'v1.34.4', '--from', 'cache/kubernetes', '-o', 'k.tgz', ...more], io());
    const key = await keyOf('signing.pem');
    expect((await create()).stderr).toContain('says nothing by which its files can be checked');
    expect((await create('--signed-by', key)).stderr).toContain('it is not signed');
    await run(['bundle', 'sign', 'cache/kubernetes', '--key', 'signing.pem'], io());
    expect((await create('--signed-by', key)).code).toBe(0);
    expect((await verified('cache/kubernetes', key)).code).toBe(0);
    const catalogue = join(cache, 'kubernetes', mirrorPaths.catalogue);
    writeFileSync(catalogue, readFileSync(catalogue, 'utf8').replace('3.6.8', '3.6.9'));
    expect((await create('--signed-by', key)).code).toBe(1);
    expect((await create('--signed-by', 'anybody')).code).toBe(2);
    expect((await create('--catalogue-sha256', 'a'.repeat(64))).stderr).toContain('its SHA-256 is');
  });

  it('are verified only on files that are bundles', async () => {
    await keyOf('signing.pem');
    writeFileSync(join(folder, 'k.tgz'), 'something else');
    expect((await run(['bundle', 'sign', 'k.tgz', '--key', 'signing.pem'], io())).code).toBe(1);
    expect(existsSync(join(folder, 'k.tgz.sig'))).toBe(false);
  });
});
