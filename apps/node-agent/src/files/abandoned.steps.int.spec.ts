import { newFolder } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realFiles } from '../adapters/files/real.files.js';
import { removeAbandonedSteps } from './abandoned.steps.js';

let root: string;
beforeEach(() => {
  root = newFolder('steps');
});
afterEach(() => rmSync(root, { recursive: true }));

it('a starting agent removes the parameters of steps that were killed before they began, and no others', async () => {
  const folder = join(root, 'var/lib/fairlead/steps');
  const now = Date.now();
  const sent = (name: string, minutesAgo: number): void => {
    writeFileSync(join(folder, name), 'token');
    utimesSync(join(folder, name), now / 1_000 - minutesAgo * 60, now / 1_000 - minutesAgo * 60);
  };
  await removeAbandonedSteps(realFiles(root), now);
  mkdirSync(folder, { recursive: true });
  sent('kubeadm-join-worker-1.sh', 6);
  sent('kubeadm-join-worker-1.json', 6);
  sent('prepare-2.sh', 1);
  await removeAbandonedSteps(realFiles(root), now);
  expect(readdirSync(folder)).toEqual(['prepare-2.sh']);
});
