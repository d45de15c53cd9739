import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Prettier leaves out what programs write, so its list has them. */
const patterns = readFileSync(join(root, '.prettierignore'), 'utf8')
  .split('# Written by programs.\n')[1]!
  .trim()
  .split('\n');

const LINES_MAX = 25_000;

describe('files that are generated and committed', () => {
  const files = execFileSync('git', ['ls-files', ...patterns], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n');
  const linesOf = (file: string): number => readFileSync(join(root, file), 'utf8').split('\n').length - 1;

  it(`have fewer than ${LINES_MAX} lines together, so that a change of a route can be reviewed`, () => {
    expect(files).toContain('docs/openapi.json');
    expect(files.map(linesOf).reduce((sum, lines) => sum + lines, 0)).toBeLessThan(LINES_MAX);
  });

  it('are no types of the client, which are built', () => {
    const types = execFileSync('git', ['ls-files', 'libs/api-client'], { cwd: root, encoding: 'utf8' });
    expect(types).not.toContain('generated');
  });
});
