import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DocumentStore } from './document.store.js';

const NEVER_MS = 3_600_000;

describe('the document store', () => {
  let folder: string;
  let store: DocumentStore;

  beforeEach(async () => {
    folder = newFolder('documents');
    store = new DocumentStore(folder, NEVER_MS, () => undefined);
    await store.readAll('things');
  });

  afterEach(async () => {
    removeFolder(folder);
  });

  it('gives back the last state of every document, whatever its name', async () => {
    let value = 1;
    store.put('things', 'a/../b', () => ({ value }));
    store.put('things', 'gone', () => ({ value }));
    value = 2;
    await store.flush();
    store.remove('things', 'gone');
    await store.flush();
    expect(await store.readAll('things')).toEqual([{ value: 2 }]);
    expect(await readdir(join(folder, 'things'))).toEqual(['a%2F..%2Fb.json']);
  });

  it('writes what a failing disk refused when the disk is well again', async () => {
    await rm(join(folder, 'things'), { recursive: true });
    store.put('things', 'one', () => ({ value: 1 }));
    await expect(store.flush()).rejects.toThrow('ENOENT');
    await mkdir(join(folder, 'things'));
    store.put('things', 'two', () => ({ value: 2 }));
    await store.flush();
    expect(await store.readAll('things')).toEqual([{ value: 1 }, { value: 2 }]);
  });
});
