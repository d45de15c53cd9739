import { expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { newFolder, removeFolder } from './index.js';

it('A temporary folder is new each time, and removing a missing one is not an error', () => {
  const [one, other] = [newFolder('spec'), newFolder('spec')];
  expect(one).not.toBe(other);
  for (const folder of [one, other]) {
    expect(existsSync(folder)).toBe(true);
    removeFolder(folder);
    removeFolder(folder);
    expect(existsSync(folder)).toBe(false);
  }
});
