import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, jest } from '@jest/globals';
import { jestArguments, SPECS, STORIES } from './jest.arguments.mjs';

jest.setTimeout(60_000);

const root = fileURLToPath(new URL('..', import.meta.url));

/** The files that jest would run, told as `npm test` tells it. */
const chosen = (filter: string, options: readonly string[]): readonly string[] => {
  const args = ['node_modules/jest/bin/jest.js', '--listTests', ...jestArguments([filter], options)];
  const listed = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  return listed.split('\n').flatMap((file) => (file === '' ? [] : [file.slice(root.length)]));
};

describe('npm test -- <path>', () => {
  it('runs the specs of that path, and no others', () => {
    const files = chosen('libs/api-client', SPECS);
    expect(files).toContain('libs/api-client/src/events.unit.spec.ts');
    expect(files.filter((file) => !file.startsWith('libs/api-client/'))).toEqual([]);
  });

  it('runs the stories of that path, and no specs', () => {
    const files = chosen('apps/cli', STORIES);
    expect(files).toContain('apps/cli/test/cli.e2e.spec.ts');
    expect(files.filter((file) => !/^apps\/cli\/.*\.e2e\.spec\.ts$/.test(file))).toEqual([]);
    expect(chosen('apps/cli/test/cli.e2e', SPECS)).toEqual([]);
  });
});
