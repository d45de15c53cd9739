import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { JournalFile } from './journal.file.js';

let folder: string;

beforeEach(async () => {
  folder = newFolder('journal');
});
afterEach(() => removeFolder(folder));

it('the journal of a host keeps the newest lines, in two files of a bounded size', async () => {
  const path = join(folder, 'log/agent.log');
  const journal = new JournalFile(path, () => undefined, 500);
  for (let count = 0; count < 100; count += 1) journal.add(`line ${count}`);
  await journal.settled();
  expect((await readFile(path, 'utf8')).trimEnd().split('\n').at(-1)).toBe('line 99');
  for (const file of [path, `${path}.1`]) expect((await stat(file)).size).toBeLessThanOrEqual(500);
});

it('an agent that restarts appends to the same file', async () => {
  const path = join(folder, 'agent.log');
  for (const line of ['before', 'after']) {
    const journal = new JournalFile(path, () => undefined);
    journal.add(line);
    await journal.settled();
  }
  expect(await readFile(path, 'utf8')).toBe('before\nafter\n');
});

it('a journal that cannot be written is reported once and blocks nothing', async () => {
  await writeFile(join(folder, 'file'), '');
  const troubles: string[] = [];
  const journal = new JournalFile(join(folder, 'file/agent.log'), (cause) => troubles.push(cause));
  journal.add('one');
  journal.add('two');
  await journal.settled();
  expect(troubles).toHaveLength(1);
});
