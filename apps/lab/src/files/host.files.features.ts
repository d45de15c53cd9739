import { eventually } from '@fairlead/testing';
import { expect, it } from '@jest/globals';
import type { HostFiles, OpenMode } from './host.files.js';

const WRITE: OpenMode = { read: false, write: true, create: true, truncate: true };
const READ: OpenMode = { read: true, write: false };
const text = (data: Uint8Array): string => Buffer.from(data).toString('utf8');

/** The behaviour that every implementation of host files shares. `make` returns the files of a new, empty host. */
export const hostFilesFeatures = (make: () => Promise<HostFiles>): void => {
  it('reads back data that was written in pieces, in any order', async () => {
    const files = await make();
    const file = await files.open('/f', { ...WRITE, read: true });
    await file.write(0, Buffer.from('hello '));
    await file.write(6, Buffer.from('world'));
    await file.write(0, Buffer.from('J'));
    expect(text(await file.read(0, 100))).toBe('Jello world');
    await file.close();
    const again = await files.open('/f', READ);
    expect(text(await again.read(6, 3))).toBe('wor');
    expect((await again.read(11, 10)).length).toBe(0);
    await again.close();
  });

  it('reports size, kind and permissions', async () => {
    const files = await make();
    await files.writeText('/etc/fairlead/secret', 'four', 0o600);
    expect(await files.stat('/etc/fairlead/secret')).toMatchObject({ kind: 'file', size: 4, permissions: 0o600 });
    expect(await files.stat('/etc')).toMatchObject({ kind: 'directory' });
    await files.setMode('/etc/fairlead/secret', 0o640);
    expect(await files.stat('/etc/fairlead/secret')).toMatchObject({ permissions: 0o640 });
  });

  it('reports failures as errno names', async () => {
    const files = await make();
    await files.writeText('/a/b', 'x');
    await expect(files.open('/none', READ)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(files.open('/none/f', WRITE)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(files.makeDirectory('/a')).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(files.removeDirectory('/a')).rejects.toMatchObject({ code: 'ENOTEMPTY' });
    await expect(files.open('/a/b', { ...WRITE, exclusive: true })).rejects.toMatchObject({ code: 'EEXIST' });
  });

  it('moves files over others, and folders with their contents', async () => {
    const files = await make();
    await files.writeText('/new', 'new');
    await files.writeText('/old', 'old');
    await files.rename('/new', '/old');
    expect(await files.readText('/old')).toBe('new');
    expect(await files.exists('/new')).toBe(false);
    await files.writeText('/d/e/f', 'deep');
    await files.rename('/d', '/g');
    expect(await files.readText('/g/e/f')).toBe('deep');
  });

  it('lists folders and removes trees', async () => {
    const files = await make();
    await files.writeText('/d/a', '1');
    await files.writeText('/d/sub/b', '2');
    const names = (await files.list('/d')).map(({ name, stat }) => `${name}:${stat.kind}`);
    expect(names.sort()).toEqual(['a:file', 'sub:directory']);
    await files.removeTree('/d');
    await files.removeTree('/d');
    expect(await files.exists('/d')).toBe(false);
    await expect(files.removeTree('/')).rejects.toMatchObject({ code: 'EACCES' });
  });

  it('removes nothing and does not fail if the parent folder is missing or a file', async () => {
    const files = await make();
    await files.writeText('/d/file', '1');
    await files.removeTree('/none/sub');
    await files.removeTree('/d/file/sub');
    expect(await files.readText('/d/file')).toBe('1');
  });

  it('follows links inside the host', async () => {
    const files = await make();
    await files.writeText('/data/real', 'content');
    await files.link('real', '/data/alias');
    expect(await files.readText('/data/alias')).toBe('content');
    expect(await files.readLink('/data/alias')).toBe('real');
    expect(await files.lstat('/data/alias')).toMatchObject({ kind: 'link' });
  });

  it('confines `..` to its own root', async () => {
    const files = await make();
    await files.writeText('/../../../etc/inside', 'mine');
    expect(await files.readText('/etc/inside')).toBe('mine');
    expect(files.realPath('../../x/../y')).toBe('/y');
  });

  it('reports changes in a folder until the watch ends', async () => {
    const files = await make();
    expect(await files.watch('/manifests', () => undefined)).toBeUndefined();
    await files.writeText('/manifests/a', '1');
    let changes = 0;
    const end = await files.watch('/manifests', () => (changes += 1));
    for (const change of [
      () => files.writeText('/manifests/b', '2'),
      () => files.rename('/manifests/b', '/aside'),
      () => files.removeTree('/manifests/a'),
      () => files.writeText('/manifests/deeper/c', 'makes a folder'),
    ]) {
      const before = changes;
      await change();
      await eventually(() => changes > before);
    }
    end?.();
    await new Promise((resolve) => setTimeout(resolve, 20)); // Let pending notifications arrive.
    const after = changes;
    await files.writeText('/manifests/c', '3');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(changes).toBe(after);
  });
};
