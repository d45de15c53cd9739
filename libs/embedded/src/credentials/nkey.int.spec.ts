import { execFileSync } from 'node:child_process';
import { expect, it } from '@jest/globals';

const KEYS = 3_000;
const TIMEOUT_MS = 60_000;
const module = new URL('../../dist/credentials/nkey.js', import.meta.url).href;
const program = `import { newKey } from ${JSON.stringify(module)};
for (let made = 0; made < ${KEYS}; made += 1) newKey('user');
console.log('made');`;

it(
  'keys can be created during garbage collection',
  () => {
    const args = ['--gc-interval=20', '--input-type=module', '--eval', program];
    expect(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: TIMEOUT_MS })).toBe('made\n');
  },
  2 * TIMEOUT_MS,
);
