import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { mirrorPaths, ExternalFailure } from '@fairlead/contracts';
import { newFolder, removeFolder } from '@fairlead/testing';
import { createBundle, inspectBundle, type Bundle } from './bundle.js';
import { catalogueOf } from './catalogue.js';
import { Downloads } from './downloads.js';
import { MirrorServer, writeSampleMirror } from './testing.js';
import { openSource, type SourceOptions } from './source.js';

const KUBELET = mirrorPaths.binary('v1.34.4', 'kubelet');
const ETCD = mirrorPaths.image('v1.34.4', 'etcd');

let folder: string;
let mirror: string;
let file: string;
let downloads: string;
let catalogueSha256: string;
let server: MirrorServer;

beforeEach(async () => {
  folder = newFolder('bundle');
  mirror = join(folder, 'mirror');
  file = join(folder, 'out', 'k.tar.gz');
  downloads = join(folder, 'downloads');
  mkdirSync(join(folder, 'out'));
  writeSampleMirror(mirror);
  catalogueSha256 = sha256Of(join(mirror, 'catalogue.json'));
  server = new MirrorServer(mirror);
  await server.start();
});

afterEach(async () => {
  await server.stop();
  removeFolder(folder);
});

const bundleOf = (location: string, options: SourceOptions = {}): Promise<Bundle> =>
  createBundle({
    source: openSource(location, { retryDelayMs: 1, ...options }),
    trust: location.startsWith('http') ? { catalogueSha256 } : { unsigned: true },
    versions: ['v1.34.4'],
    file,
    ...(location.startsWith('http') ? { downloads: new Downloads(downloads) } : {}),
  });

const sha256Of = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

/** A failure must leave nothing under the final name, and nothing beside it. */
const nothingWritten = () => expect(readdirSync(join(folder, 'out'))).toEqual([]);

describe('a bundle', () => {
  it('of a folder is identified by its SHA-256, and contains only what that version needs', async () => {
    const made = await bundleOf(mirror);
    expect(made.sha256).toBe(sha256Of(file));
    const listed = spawnSync('tar', ['-tzf', file], { encoding: 'utf8' }).stdout.trim().split('\n');
    expect(listed.sort()).toEqual(
      [
        'catalogue.json',
        mirrorPaths.cniPlugins('v1.9.1'),
        mirrorPaths.sha256(mirrorPaths.cniPlugins('v1.9.1')),
        ETCD,
        'images/busybox-1.tar',
        KUBELET,
        mirrorPaths.sha256(KUBELET),
      ].sort(),
    );
  });

  it('is the same, byte for byte, from a folder and from a server', async () => {
    const fromFolder = await bundleOf(mirror);
    rmSync(file);
    expect((await bundleOf(server.url)).sha256).toBe(fromFolder.sha256);
  });

  it('is a mirror again when it is unpacked, with executable programs', async () => {
    await bundleOf(mirror);
    const unpacked = join(folder, 'unpacked');
    mkdirSync(unpacked);
    spawnSync('tar', ['-xzf', file, '-C', unpacked]);
    const check = spawnSync('sha256sum', ['--check', 'kubelet.sha256'], {
      cwd: join(unpacked, 'release/v1.34.4/bin/linux/amd64'),
      encoding: 'utf8',
    });
    expect(check.stdout).toBe('kubelet: OK\n');
    expect(spawnSync('test', ['-x', join(unpacked, KUBELET)]).status).toBe(0);
    const again = await createBundle({
      source: openSource(unpacked),
      trust: { unsigned: true },
      versions: ['v1.34.4'],
      file: join(folder, 'again.tar.gz'),
    });
    expect(again.sha256).toBe(sha256Of(file));
  });

  it('of a version that the mirror lacks is refused with the available versions', async () => {
    const request = { source: openSource(mirror), trust: { unsigned: true } as const, versions: ['v1.36.3'], file };
    await expect(createBundle(request)).rejects.toThrow('it has no v1.36.3, only v1.33.13, v1.34.4');
    nothingWritten();
  });

  it('of a location without a catalogue is refused with how to create one', async () => {
    rmSync(join(mirror, 'catalogue.json'));
    await expect(bundleOf(server.url)).rejects.toThrow(/no catalogue\.json.*npm run kubernetes:build/);
  });
});

describe('a file that differs from the catalogue', () => {
  it.each(['a folder', 'a server'])('is refused with its name if the mirror is %s', async (where) => {
    const content = readFileSync(join(mirror, ETCD));
    content[0] = 0x58;
    writeFileSync(join(mirror, ETCD), content);
    const failure = await bundleOf(where === 'a folder' ? mirror : server.url).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ExternalFailure);
    expect(failure).toMatchObject({ operation: `verify ${ETCD}`, retryable: false });
    expect(String(failure)).toMatch(/SHA-256 [0-9a-f]{64} instead of [0-9a-f]{64}/);
    nothingWritten();
  });

  it('is refused if it is longer or shorter than the catalogue states', async () => {
    writeFileSync(join(mirror, ETCD), 'short');
    await expect(bundleOf(mirror)).rejects.toThrow(/5 bytes instead of/);
    writeFileSync(join(mirror, ETCD), 'x'.repeat(1000));
    await expect(bundleOf(mirror)).rejects.toThrow(/more than the \d+ bytes/);
    nothingWritten();
  });
});

describe('a server', () => {
  /** Sends half of the kubelet and disconnects, this many times. */
  const hangUp = (times: number) => {
    let left = times;
    server.interfere = (path, from, answer: ServerResponse) => {
      if (path !== KUBELET || left === 0) return undefined;
      left -= 1;
      const content = readFileSync(join(mirror, path));
      const to = from + Math.floor((content.length - from) / 2);
      answer.writeHead(from > 0 ? 206 : 200, { 'content-length': content.length - from });
      answer.write(content.subarray(from, to), () => answer.destroy());
      return true;
    };
  };

  it('that disconnects is asked for the rest', async () => {
    hangUp(3);
    await bundleOf(server.url);
    const asked = server.requests.filter((request) => request.startsWith(KUBELET));
    expect(asked).toHaveLength(4);
    expect(asked.slice(1).every((request) => / from [1-9]\d*$/.test(request))).toBe(true);
    expect((await inspectBundle(file)).sha256).toBe(sha256Of(file));
  });

  it('without support for ranges is read again from the start, skipping what is already downloaded', async () => {
    hangUp(1);
    const { interfere } = server;
    server.interfere = (path, _from, answer) => interfere(path, 0, answer) ?? wholly(path, answer);
    const wholly = (path: string, answer: ServerResponse): true => {
      answer.writeHead(200).end(readFileSync(join(mirror, path)));
      return true;
    };
    await bundleOf(server.url);
    await inspectBundle(file);
  });

  it('that is down is retried, and fails after five attempts', async () => {
    let busy = 3;
    server.interfere = (path, _, answer) => {
      if (path !== ETCD || busy-- <= 0) return undefined;
      answer.writeHead(503).end();
      return true;
    };
    await bundleOf(server.url);
    server.requests.length = 0;
    server.interfere = (path, _, answer) => (path === ETCD ? (answer.writeHead(503).end(), true) : undefined);
    await expect(bundleOf(server.url)).rejects.toThrow('HTTP 503');
    expect(server.requests.filter((path) => path === ETCD)).toHaveLength(5);
  });

  it('that rejects a request is asked once', async () => {
    rmSync(join(mirror, ETCD));
    await expect(bundleOf(server.url)).rejects.toMatchObject({ operation: `fetch ${ETCD}`, retryable: false });
    expect(server.requests.filter((path) => path === ETCD)).toHaveLength(1);
    nothingWritten();
  });

  it('that stops sending is abandoned', async () => {
    server.interfere = (path) => (path === ETCD ? true : undefined);
    await expect(bundleOf(server.url, { idleTimeoutMs: 50 })).rejects.toThrow('no answer for 0.05 s');
  });

  it('is asked by the next run only for what the previous one did not download', async () => {
    server.interfere = (path, _, answer) => (path === ETCD ? (answer.writeHead(403).end(), true) : undefined);
    await expect(bundleOf(server.url)).rejects.toThrow('HTTP 403');
    expect(readdirSync(downloads).length).toBeGreaterThan(0);
    server.interfere = () => undefined;
    server.requests.length = 0;
    await bundleOf(server.url);
    expect(server.requests.some((request) => request.startsWith(KUBELET))).toBe(false);
    expect(readdirSync(downloads)).toEqual([]);
  });
});

describe('downloads by several processes into one folder', () => {
  const kubeletBy = async (pid: number): Promise<Buffer> => {
    const source = openSource(server.url, { retryDelayMs: 1 });
    const { files } = await catalogueOf(source, { catalogueSha256 });
    const parts: Uint8Array[] = [];
    for await (const part of new Downloads(downloads, pid).fetch(
      files.find(({ path }) => path === KUBELET)!,
      source,
    ))
      parts.push(part);
    return Buffer.concat(parts);
  };

  it("do not write into each other's files", async () => {
    const whole = readFileSync(join(mirror, KUBELET));
    expect(await Promise.all([kubeletBy(process.pid), kubeletBy(process.ppid)])).toEqual([whole, whole]);
    expect(readdirSync(downloads)).toEqual([sha256Of(join(mirror, KUBELET))]);
  });

  it('resume those of a process that has ended', async () => {
    const whole = readFileSync(join(mirror, KUBELET));
    const ended = spawnSync('true').pid;
    mkdirSync(downloads);
    writeFileSync(join(downloads, `${sha256Of(join(mirror, KUBELET))}.${ended}.part`), whole.subarray(0, 1_000));
    expect(await kubeletBy(process.pid)).toEqual(whole);
    expect(server.requests).toContain(`${KUBELET} from 1000`);
    expect(readdirSync(downloads)).toEqual([sha256Of(join(mirror, KUBELET))]);
  });
});

describe('Ctrl-C', () => {
  it('leaves no file, and keeps downloads for the next run', async () => {
    const interrupted = new AbortController();
    server.interfere = (path, from, answer) => {
      if (path !== KUBELET || from > 0) return undefined;
      const content = readFileSync(join(mirror, path));
      answer.writeHead(200, { 'content-length': content.length });
      answer.write(content.subarray(0, 100_000), () => setTimeout(() => interrupted.abort(new Error('Ctrl-C')), 100));
      return true;
    };
    await expect(bundleOf(server.url, { signal: interrupted.signal })).rejects.toThrow('Ctrl-C');
    nothingWritten();
    server.interfere = () => undefined;
    await bundleOf(server.url);
    expect(server.requests.some((request) => /kubelet from [1-9]\d*$/.test(request))).toBe(true);
  });
});

describe('reading a bundle', () => {
  /** The archive with a modified tar. */
  const rewrite = (change: (tar: Buffer) => Buffer): void =>
    writeFileSync(file, gzipSync(change(gunzipSync(readFileSync(file)))));

  it('returns its versions, substitutions, and checksum', async () => {
    const made = await bundleOf(mirror);
    expect(await inspectBundle(file)).toEqual(made);
  });

  it('refuses a modified file, by its name', async () => {
    await bundleOf(mirror);
    rewrite((tar) => {
      tar.write('X', tar.indexOf('etcd for v1.34.4'));
      return tar;
    });
    await expect(inspectBundle(file)).rejects.toMatchObject({ operation: `verify ${ETCD}` });
  });

  it('refuses truncated files, files that are not archives, and unlisted members', async () => {
    await bundleOf(mirror);
    const whole = readFileSync(file);
    writeFileSync(file, whole.subarray(0, whole.length - 100));
    await expect(inspectBundle(file)).rejects.toBeInstanceOf(ExternalFailure);
    writeFileSync(file, 'no archive');
    await expect(inspectBundle(file)).rejects.toMatchObject({ operation: 'verify the bundle' });
    writeFileSync(file, whole);
    rewrite((tar) => Buffer.concat([tar.subarray(0, tar.length - 1024), tarOfOneFile(), Buffer.alloc(1024)]));
    await expect(inspectBundle(file)).rejects.toThrow('extra is not in its catalogue');
  });

  it('refuses one that lacks a file of its catalogue', async () => {
    await bundleOf(mirror);
    // busybox is the last member: header, content block, end.
    rewrite((tar) => {
      const at = tar.indexOf('images/busybox-1.tar\0');
      return Buffer.concat([tar.subarray(0, at), Buffer.alloc(1024)]);
    });
    await expect(inspectBundle(file)).rejects.toThrow('images/busybox-1.tar is missing');
  });

  it('reports that the file does not exist', async () => {
    await expect(inspectBundle(join(folder, 'none'))).rejects.toThrow(/ENOENT/);
    expect(existsSync(join(folder, 'none'))).toBe(false);
  });
});

const tarOfOneFile = (): Buffer => {
  const place = newFolder('extra');
  writeFileSync(join(place, 'extra'), 'extra');
  const { stdout } = spawnSync('tar', ['--format=ustar', '-cf', '-', '-C', place, 'extra']);
  rmSync(place, { recursive: true });
  return stdout.subarray(0, 1024);
};
