import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, jest } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CRASHES,
  jestArguments,
  LARGE,
  LONG,
  LONG_STORIES,
  MACHINE,
  SEEDED,
  SHORT,
  SPECS,
  STORIES,
} from './jest.arguments.mjs';

jest.setTimeout(180_000);

const root = fileURLToPath(new URL('..', import.meta.url));

/** The files that jest would run with the arguments of `npm test`. */
const chosen = (filter: string | undefined, options: readonly string[]): readonly string[] => {
  const filters = filter === undefined ? [] : [filter];
  const args = ['node_modules/jest/bin/jest.js', '--listTests', ...jestArguments(filters, options)];
  const listed = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  return listed.split('\n').flatMap((file) => (file === '' ? [] : [file.slice(root.length)]));
};

describe('npm test -- <path>', () => {
  it('runs only the specs of that path', () => {
    const files = chosen('libs/api-client', SPECS);
    expect(files).toContain('libs/api-client/src/events.unit.spec.ts');
    expect(files.filter((file) => !file.startsWith('libs/api-client/'))).toEqual([]);
  });

  it('runs only the stories of that path', () => {
    const files = chosen('apps/cli', STORIES);
    expect(files).toContain('apps/cli/test/cli.e2e.spec.ts');
    expect(files.filter((file) => !/^apps\/cli\/.*\.e2e\.spec\.ts$/.test(file))).toEqual([]);
    expect(chosen('apps/cli/test/cli.e2e', SPECS)).toEqual([]);
  });
});

describe('the groups of tests', () => {
  it('contain every story: each is short or long, and the long ones exist', () => {
    const [long = [], short = [], large = [], machine = []] = [LONG, SHORT, LARGE, MACHINE].map((options) => [
      ...chosen(undefined, options),
    ]);
    expect(long).toHaveLength(LONG_STORIES.length);
    for (const one of [large, machine]) expect(one).toHaveLength(1);
    expect(long.filter((file) => short.includes(file))).toEqual([]);
    expect([...long, ...short, ...large, ...machine].sort()).toEqual([...chosen(undefined, STORIES)].sort());
    expect(short).toEqual(expect.arrayContaining([...chosen(undefined, CRASHES)]));
  });

  it('contain every spec: each is a story or is run by every npm test', () => {
    const specs = chosen(undefined, SPECS);
    const all = chosen(undefined, []);
    expect(all.filter((file) => !specs.includes(file) && !file.endsWith('.e2e.spec.ts'))).toEqual([]);
  });

  it('contain every simulation whose seeds are counted', () => {
    const simulations = chosen('\\.sim\\.spec\\.ts$', SPECS);
    const counted = simulations.filter((file) => readFileSync(join(root, file), 'utf8').includes('SIM_SEEDS'));
    expect([...chosen(undefined, SEEDED)].sort()).toEqual([...counted].sort());
  });
});

describe('a part that npm test omits', () => {
  it('is reported and counted as skipped if the time does not suffice', () => {
    const args = ['tools/test-rest.mjs', '--minutes=0'];
    const env = { ...process.env, FAIRLEAD_REAL_STORIES: '', FAIRLEAD_TEST_REPORT: undefined };
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env });
    for (const part of [
      'checks',
      'stories: the long ones',
      'simulations: all seeds',
      'untrusted text of 1 MiB',
      'stories: the large one',
      'both commands on a minimal machine',
      'kills at every event',
    ])
      expect(stdout).toContain(`!!! NOT RUN: ${part}\n`);
    expect(stdout.trim().split('\n').at(-1)).toBe('0 passed, 0 failed, 7 skipped');
    expect(status).toBe(0);
  });
});

describe('the end of a run', () => {
  it('lists the failed and the flaky tests before the last line', () => {
    const program = `
      import { checked, lineOf, sum } from './tools/runs.mjs';
      const specs = { passed: 2, failed: 1, skipped: 1, failures: ['a.unit.spec.ts › a cluster › grows'], flaky: ['b.int.spec.ts'] };
      process.stdout.write(lineOf(sum([checked(true, 'lint'), checked(false, 'types of specs'), specs])));`;
    const args = ['--input-type=module', '--eval', program];
    expect(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }).split('\n')).toEqual([
      '!!! FAILED: types of specs',
      '!!! FAILED: a.unit.spec.ts › a cluster › grows',
      '!!! FLAKY, passed only when run again alone: b.int.spec.ts',
      '3 passed, 2 failed, 1 skipped',
      '',
    ]);
  });
});
