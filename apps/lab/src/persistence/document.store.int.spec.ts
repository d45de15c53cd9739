import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { appendFile, mkdir, readdir, readFile, rm } from 'node:fs/promises';
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

  it('returns the last state of every document, whatever its name', async () => {
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

  it('retries after a failed write once the disk works again', async () => {
    await rm(join(folder, 'things'), { recursive: true });
    store.put('things', 'one', () => ({ value: 1 }));
    await expect(store.flush()).rejects.toThrow('ENOENT');
    await mkdir(join(folder, 'things'));
    store.put('things', 'two', () => ({ value: 2 }));
    await store.flush();
    expect(await store.readAll('things')).toEqual([{ value: 1 }, { value: 2 }]);
  });

  it('appends changes to a journal, and rewrites it after it has grown or a write has failed', async () => {
    const journal = join(folder, 'things', 'one.journal');
    const asked: boolean[] = [];
    const write = async (entries: readonly unknown[]): Promise<void> => {
      store.putJournaled('things', 'one', (mustBeWhole) => {
        asked.push(mustBeWhole);
        return { document: { count: asked.length }, entries, isWhole: mustBeWhole };
      });
      await store.flush();
    };
    await write(['a']);
    await write(['b']);
    expect(await readFile(journal, 'utf8')).toBe('"a"\n"b"\n');
    expect(await store.readAllJournaled('things')).toEqual([{ document: { count: 2 }, entries: ['a', 'b'] }]);
    await appendFile(journal, '"killed while it was wri');
    expect(await store.readAllJournaled('things')).toEqual([{ document: { count: 2 }, entries: ['a', 'b'] }]);

    await rm(join(folder, 'things'), { recursive: true });
    await expect(write(['c'])).rejects.toThrow('ENOENT');
    await mkdir(join(folder, 'things'));
    await store.flush();
    const large = 'x'.repeat(300 * 1024);
    await write([large]);
    await write(['d']);
    expect(asked).toEqual([true, false, false, true, false, true]);
    expect(await store.readAllJournaled('things')).toEqual([{ document: { count: 6 }, entries: ['d'] }]);
    store.remove('things', 'one');
    await store.flush();
    expect(await readdir(join(folder, 'things'))).toEqual([]);
  });
});
