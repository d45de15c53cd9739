import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { HostFiles, SourceFiles } from '../files/files.ports.js';
import type { HostPort } from '../node/host.ports.js';
import { Mirror } from './mirror.js';

const PROGRAM = 'release/v1.34.4/bin/linux/amd64/kubelet';
const TO = '/usr/bin/.fairlead-kubelet-v1.34.4';
const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('A verified file', () => {
  /** Contents and identity, which changes with each write and each rename, as in a file system. */
  const there = new Map<string, { readonly text: string; readonly identity: string }>();
  const read: string[] = [];
  let changes = 0;
  const put = (path: string, text: string): void => void there.set(path, { text, identity: `${(changes += 1)}` });
  const contentOf = (path: string): string => there.get(path)?.text ?? '';

  const files = {
    at: (path) => path,
    stat: async (path) => {
      const file = there.get(path);
      return file === undefined ? undefined : { identity: file.identity, size: file.text.length, modifiedMs: 0 };
    },
    sha256: async (path) => {
      read.push(path);
      return sha256Of(contentOf(path));
    },
    remove: async (path) => void there.delete(path),
  } satisfies Partial<HostFiles> as unknown as HostFiles;
  const source = {
    address: (path) => path,
    get: async (path, to) => {
      put(to, contentOf(`/mirror/${path}`));
      return sha256Of(contentOf(to));
    },
    inPlace: (path) => `/mirror/${path}`,
  } satisfies Partial<SourceFiles> as unknown as SourceFiles;
  const host = {
    rename: async (from, to) => {
      put(to, contentOf(from));
      there.delete(from);
    },
  } satisfies Partial<HostPort> as unknown as HostPort;

  const mirror = (): Mirror =>
    new Mirror(
      { location: '/mirror', trust: { digests: { [PROGRAM]: sha256Of('kubelet') } }, files: source },
      files,
      host,
    );
  beforeEach(() => {
    there.clear();
    read.length = 0;
    put(`/mirror/${PROGRAM}`, 'kubelet');
  });

  it('is not read again while it is unchanged, whether installed or in place', async () => {
    const one = mirror();
    for (let count = 0; count < 3; count += 1) {
      await one.place(PROGRAM, TO, 0o755);
      await one.readable(PROGRAM);
    }
    expect(read).toEqual([`/mirror/${PROGRAM}`]);
  });

  it('is read again by another agent, and after it changed; a wrong one is replaced', async () => {
    const one = mirror();
    await one.place(PROGRAM, TO, 0o755);
    await mirror().place(PROGRAM, TO, 0o755);
    expect(read).toEqual([TO]);
    put(TO, 'evil');
    await one.place(PROGRAM, TO, 0o755);
    expect(read).toEqual([TO, TO]);
    expect(contentOf(TO)).toBe('kubelet');
  });

  it('is refused in place if its contents changed', async () => {
    const one = mirror();
    await one.readable(PROGRAM);
    put(`/mirror/${PROGRAM}`, 'evil');
    await expect(one.readable(PROGRAM)).rejects.toMatchObject({ operation: 'verify' });
  });
});
