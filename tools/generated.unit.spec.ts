import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectFiles } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('..', import.meta.url));

/** `.prettierignore` lists all generated files. */
const patterns = readFileSync(join(root, '.prettierignore'), 'utf8')
  .split('# Written by programs.\n')[1]!
  .trim()
  .split('\n');

const LINES_MAX = 25_000;

describe('generated files in the repository', () => {
  const files = projectFiles(root, ...patterns);
  const linesOf = (file: string): number => readFileSync(join(root, file), 'utf8').split('\n').length - 1;

  it(`have fewer than ${LINES_MAX} lines in total, so that a change of a route can be reviewed`, () => {
    expect(files).toContain('docs/openapi.json');
    expect(files.map(linesOf).reduce((sum, lines) => sum + lines, 0)).toBeLessThan(LINES_MAX);
  });

  it('do not include the types of the client, which are built', () => {
    expect(readFileSync(join(root, '.gitignore'), 'utf8').split('\n')).toContain('libs/api-client/generated/');
  });
});
