import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mirrorPaths } from '@fairlead/contracts';
import { writeSampleMirror } from '@fairlead/mirror/testing';
import { fakeIo, run } from '../spec/io.fixtures.js';

let folder: string;
let cache: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-cli-bundle-'));
  cache = join(folder, 'cache');
  writeSampleMirror(join(cache, 'kubernetes'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const io = (isLive = false) => fakeIo({ cwd: folder, env: { FAIRLEAD_CACHE: cache }, isLive });

describe('fairlead bundle create', () => {
  it('packs the mirror of this machine, and prints the SHA-256 that a connection takes', async () => {
    const { code, stdout } = await run(['bundle', 'create', '1.34.4'], io());
    const sha256 = createHash('sha256')
      .update(readFileSync(join(folder, 'kubernetes-v1.34.4.tar.gz')))
      .digest('hex');
    expect(code).toBe(0);
    expect(stdout).toContain(`SHA-256 ${sha256}`);
    expect(stdout).toContain('etcd 3.6.8, which stands in for 3.6.5');
  });

  it('answers programs in JSON, and shows a terminal how far it is', async () => {
    const terminal = io(true);
    const args = ['bundle', 'create', 'v1.33.13', 'v1.34.4', '--from', 'cache/kubernetes', '-o', 'k.tgz'];
    const { stdout } = await run([...args, '--output', 'json'], terminal);
    expect(JSON.parse(stdout)).toMatchObject({
      file: join(folder, 'k.tgz'),
      releases: [{ version: 'v1.33.13' }, { version: 'v1.34.4' }],
    });
    expect(terminal.drawn().at(-1)).toMatch(/^100 %/);
  });

  it('refuses a tampered mirror with the name of the file, and writes nothing', async () => {
    writeFileSync(join(cache, 'kubernetes', mirrorPaths.image('v1.34.4', 'etcd')), 'etcd for v1.34.X');
    const { code, stderr } = await run(['bundle', 'create', 'v1.34.4'], io());
    expect(code).toBe(1);
    expect(stderr).toContain('verify images/v1.34.4/etcd.tar');
    expect(existsSync(join(folder, 'kubernetes-v1.34.4.tar.gz'))).toBe(false);
  });

  it('says what makes a mirror when there is none', async () => {
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
  it('says what is in a bundle, and refuses what is none', async () => {
    await run(['bundle', 'create', 'v1.34.4', '-o', 'k.tar.gz'], io());
    const { code, stdout } = await run(['bundle', 'inspect', 'k.tar.gz'], io());
    expect(code).toBe(0);
    expect(stdout).toContain('Kubernetes v1.34.4');
    writeFileSync(join(folder, 'k.tar.gz'), 'something else');
    expect((await run(['bundle', 'inspect', 'k.tar.gz'], io())).code).toBe(1);
    expect((await run(['bundle', 'inspect', 'none.tar.gz'], io())).code).toBe(2);
  });
});
