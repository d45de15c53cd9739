import { newFolder } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  directoryEntry,
  fileEntry,
  readTar,
  symlinkEntry,
  TAR_END,
  TarError,
  tarHeader,
  tarPadding,
  type TarEntry,
} from './tar.js';

const archive = (...members: readonly (readonly [TarEntry, string?])[]): Buffer =>
  Buffer.concat([
    ...members.flatMap(([entry, content = '']) => [tarHeader(entry), Buffer.from(content), tarPadding(entry.size)]),
    TAR_END,
  ]);

/** The bytes in chunks of a size that fits no header. */
async function* portions(bytes: Buffer, size = 700): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const contentsOf = async (bytes: Buffer): Promise<Record<string, string>> => {
  const found: Record<string, string> = {};
  for await (const { entry, content } of readTar(portions(bytes))) {
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(Buffer.from(part));
    found[entry.path] = entry.type === 'symlink' ? `-> ${entry.target}` : Buffer.concat(parts).toString();
  }
  return found;
};

const LONG = `${'folder/'.repeat(20)}file`;
const SAMPLE = archive(
  [directoryEntry('etc')],
  [fileEntry('etc/hostname', 5, 0o600), 'node\n'],
  [symlinkEntry('lib', 'usr/lib')],
  [fileEntry(LONG, 1024), 'x'.repeat(1024)],
  [fileEntry('empty', 0)],
);

describe('a tar archive', () => {
  it('survives a round trip', async () => {
    expect(await contentsOf(SAMPLE)).toEqual({
      etc: '',
      'etc/hostname': 'node\n',
      lib: '-> usr/lib',
      [LONG]: 'x'.repeat(1024),
      empty: '',
    });
  });

  it('continues after a partially read file', async () => {
    const paths: string[] = [];
    for await (const { entry, content } of readTar(portions(SAMPLE))) {
      paths.push(entry.path);
      for await (const _ of content) break;
    }
    expect(paths).toEqual(['etc', 'etc/hostname', 'lib', LONG, 'empty']);
  });

  it('is readable by tar, with root as the owner and 1970 as the time of everything', () => {
    const { stdout } = spawnSync('tar', ['--list', '--verbose', '--utc', '--file', '-'], {
      input: SAMPLE,
      encoding: 'utf8',
    });
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      'drwxr-xr-x root/root         0 1970-01-01 00:00 etc/',
      '-rw------- root/root         5 1970-01-01 00:00 etc/hostname',
      'lrwxrwxrwx root/root         0 1970-01-01 00:00 lib -> usr/lib',
    ]);
  });

  it('of GNU tar is readable, including long names', async () => {
    const folder = newFolder('tar');
    const deep = `${'long-name-'.repeat(12)}/${'another-'.repeat(12)}`;
    try {
      mkdirSync(join(folder, 'in', deep), { recursive: true });
      writeFileSync(join(folder, 'in', deep, 'file'), 'content');
      symlinkSync(`${deep}/file`, join(folder, 'in', 'link'));
      spawnSync('tar', ['--format=gnu', '-C', join(folder, 'in'), '-cf', join(folder, 'a.tar'), '.']);
      const found = await contentsOf(readFileSync(join(folder, 'a.tar')));
      expect(found).toMatchObject({ [`${deep}/file`]: 'content', link: `-> ${deep}/file` });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    ['cut off in a header', SAMPLE.subarray(0, 700)],
    ['cut off in a file', SAMPLE.subarray(0, 512 * 2 + 3)],
    ['damaged', Buffer.concat([Buffer.from('X'), SAMPLE.subarray(1)])],
    ['text', Buffer.alloc(2048, '<html>')],
  ])('that is %s is refused', async (_, bytes) => {
    await expect(contentsOf(bytes)).rejects.toThrow(TarError);
  });

  it('cannot have a file of 8 GiB, or a name that ustar cannot represent', () => {
    expect(() => tarHeader(fileEntry('large', 8 * 1024 ** 3))).toThrow(RangeError);
    expect(() => tarHeader(fileEntry('x'.repeat(101), 0))).toThrow(RangeError);
  });
});
