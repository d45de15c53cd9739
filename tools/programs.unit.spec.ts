import { projectFiles } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Of packages that every Debian system has ("Essential: yes" and "Priority: required"). */
const EVERYWHERE = new Set(
  'bash dpkg find flock grep mount sh sha256sum sleep stat tar test true umount uname unshare'.split(' '),
);

/** Their guard is that of their provider, which names every program that it misses. */
const GUARDED_OTHERWISE = ['libs/nspawn/src/local.int.spec.ts'];

/** `this.on('host', 'nft', ...)` runs a program in a network namespace. */
const RUNS =
  /(?:(?<![.\w])(?:spawn|spawnSync|execFile|execFileSync|check)\(\s*|this\.on\('[a-z]+',\s*)'([a-z][a-z0-9.-]*)'/g;
const GUARDS = /\b(?:itWith|describeWith|itInNetwork|describeInNetwork)\(([^)]*)\)/g;

/** What a spec imports to test with: fixtures and worlds, with what those import in turn. */
const helpersOf = (file: string, known: ReadonlySet<string> = new Set()): ReadonlySet<string> => {
  const imported = [...textOf(file).matchAll(/from '(\.[^']*\.(?:fixtures|world|features)|\.[^']*\/test\/[^']*)\.js'/g)]
    .map(([, path = '']) => normalize(join(dirname(file), `${path}.ts`)))
    .filter((one) => !known.has(one));
  return imported.reduce((all, one) => helpersOf(one, new Set([...all, one])), known);
};

const runIn = (file: string): readonly string[] => [...textOf(file).matchAll(RUNS)].map(([, program = '']) => program);

const listedIn = (file: string): ReadonlySet<string> =>
  new Set(
    [...textOf(file).matchAll(GUARDS)].flatMap(([, list = '']) =>
      [...list.matchAll(/'([^']+)'/g)].map(([, one = '']) => one),
    ),
  );

describe('a spec that runs programs of the machine', () => {
  const specs = projectFiles(
    root,
    'apps/**/*.spec.ts',
    'libs/**/*.spec.ts',
    'tools/**/*.spec.ts',
    'test/**/*.spec.ts',
  ).filter((file) => !/\.(e2e|real)\.spec\.ts$/.test(file) && !GUARDED_OTHERWISE.includes(file));

  it('lists all of them in its guard, also those that its fixtures run', () => {
    const missing = specs.flatMap((file) => {
      const listed = listedIn(file);
      const programs = [file, ...helpersOf(file)].flatMap(runIn);
      const unlisted = [...new Set(programs)].filter((one) => !EVERYWHERE.has(one) && !listed.has(one));
      return unlisted.map((program) => `${file}: ${program}`);
    });
    expect(missing).toEqual([]);
    expect(specs.filter((file) => listedIn(file).size > 0).length).toBeGreaterThan(12);
  });
});
