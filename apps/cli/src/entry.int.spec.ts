import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

const COMMAND = fileURLToPath(new URL('../bin/fairlead.mjs', import.meta.url));
const run = promisify(execFile);

let checkout: string;

beforeEach(() => {
  checkout = newFolder('entry');
  mkdirSync(join(checkout, 'apps', 'cli', 'bin'), { recursive: true });
  cpSync(COMMAND, join(checkout, 'apps', 'cli', 'bin', 'fairlead.mjs'));
  write('apps/cli/dist/main.js', 'console.log(`compiled ${process.argv.slice(2)}`);', 1_000);
  write('apps/cli/dist/.tsbuildinfo', '{}', 1_000);
  write('libs/contracts/dist/.tsbuildinfo', '{}', 1_000);
});

afterEach(() => removeFolder(checkout));

const write = (name: string, text: string, atSeconds: number): void => {
  const file = join(checkout, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  utimesSync(file, atSeconds, atSeconds);
};

const fairlead = async (): Promise<string> => {
  const { stdout } = await run(process.execPath, [join(checkout, 'apps', 'cli', 'bin', 'fairlead.mjs'), 'one', 'two']);
  return stdout.trim();
};

it('the command runs from its bundle, unless a source was compiled later', async () => {
  expect(await fairlead()).toBe('compiled one,two');
  write('apps/cli/dist/bundle.mjs', 'console.log(`bundled ${process.argv.slice(2)}`);', 2_000);
  expect(await fairlead()).toBe('bundled one,two');
  write('libs/contracts/dist/.tsbuildinfo', '{}', 3_000);
  expect(await fairlead()).toBe('compiled one,two');
});
