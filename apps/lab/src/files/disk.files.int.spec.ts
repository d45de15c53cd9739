import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DiskFiles } from './disk.files.js';
import { hostFilesFeatures } from './host.files.features.js';

const folders: string[] = [];

const keptFolder = (): string => {
  const folder = newFolder('files');
  folders.push(folder);
  return folder;
};

const newFiles = (): Promise<DiskFiles> => DiskFiles.at(join(keptFolder(), 'root'));

describe('files in a folder', () => {
  afterAll(async () => {
    for (const folder of folders) removeFolder(folder);
  });

  hostFilesFeatures(newFiles);

  it('treat a path with the root as prefix as the same file', async () => {
    const files = await newFiles();
    await files.writeText(`${files.root}/etc/x`, 'one');
    expect(await files.readText('/etc/x')).toBe('one');
  });

  it('refuse links that point outside the host, for reading, writing and creating files', async () => {
    const files = await newFiles();
    const outside = keptFolder();
    await writeFile(join(outside, 'secret'), 'theirs');
    await symlink(join(outside, 'secret'), join(files.root, 'file'));
    await symlink(outside, join(files.root, 'folder'));
    await symlink(join(outside, 'absent'), join(files.root, 'dangling'));
    await expect(files.readText('/file')).rejects.toMatchObject({ code: 'EACCES' });
    await expect(files.writeText('/folder/new', 'mine')).rejects.toMatchObject({ code: 'EACCES' });
    await expect(files.open('/dangling', { read: false, write: true, create: true })).rejects.toMatchObject({
      code: 'EACCES',
    });
    await files.removeTree('/folder');
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('theirs');
  });
});
