import { projectFiles } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Of packages that every Debian system has ("Essential: yes" and "Priority: required"). */
const EVERYWHERE = new Set(
  'bash dpkg env find flock grep mount node sh sha256sum sleep stat tar test true umount uname unshare'.split(' '),
);

/** Their guard is that of their provider, which names every program that it misses. */
const GUARDED_OTHERWISE = ['libs/nspawn/src/local.int.spec.ts'];

/** Programs that specs name by a variable, each with why no guard is needed. */
const BY_VARIABLE: Readonly<Record<string, string>> = {
  'apps/lab/src/kubernetes/kubectl.int.spec.ts: client.path': 'kubectl of the lab, which is skipped without it',
  'apps/infra-svc/src/adapters/power/emulators.fixtures.ts: program': 'an emulator that the spec names in its guard',
  'apps/lab/src/light/light.fixtures.ts: command': 'a stand-in of the lab, by its name',
  'apps/node-agent/test/firewall.world.ts: join(this.root': 'a script that the world itself has written',
  'libs/embedded/test/programs.ts: join(ROOT': 'esbuild, which npm installs',
  'apps/node-agent/test/firewall.world.ts: program': 'what `on` is given, which is found there',
};

/** The first argument of what runs a program; `this.on('host', 'nft', ...)` runs one in a network namespace. */
const RUNS =
  /(?:(?<![.\w]|private )(?:spawn|spawnSync|execFile|execFileSync|runCommand|promisify\(execFile\))\(\s*|this\.on\('[a-z]+',\s*)([^\s,)]+)/g;
/** Of `@fairlead/testing/programs`; elsewhere it is another function. */
const CHECKS = /(?<![.\w])check\(\s*([^\s,)]+)/g;
const GUARDS = /\b(?:itWith|describeWith|itInNetwork|describeInNetwork)\(([^)]*)\)/g;

/** What a spec imports to test with: fixtures and worlds, with what those import in turn. */
const helpersOf = (file: string, known: ReadonlySet<string> = new Set()): ReadonlySet<string> => {
  const imported = [...textOf(file).matchAll(/from '(\.[^']*\.(?:fixtures|world|features)|\.[^']*\/test\/[^']*)\.js'/g)]
    .map(([, path = '']) => normalize(join(dirname(file), `${path}.ts`)))
    .filter((one) => !known.has(one));
  return imported.reduce((all, one) => helpersOf(one, new Set([...all, one])), known);
};

/** `'nft'`, and `program` of `for (const program of ['tcsh', 'fish'])`; undefined: which one is not known. */
const namesOf = (text: string, argument: string): readonly string[] | undefined => {
  const literal = /^'([^']+)'$/.exec(argument)?.[1];
  if (literal !== undefined) return [basename(literal)];
  if (argument === 'process.execPath') return ['node'];
  const list = [...text.matchAll(LOOPS)].find(([, variable]) => variable === argument)?.[2];
  return list === undefined ? undefined : [...list.matchAll(/'([^']+)'/g)].map(([, one = '']) => one);
};

const LOOPS = /for \(const (\w+) of \[([^\]]*)\]/g;

const argumentsOf = (text: string, calls: RegExp): readonly string[] =>
  [...text.matchAll(calls)].map(([, argument = '']) => argument);

const runBy = (file: string): readonly string[] => {
  const text = textOf(file);
  const checks = text.includes('@fairlead/testing/programs') ? argumentsOf(text, CHECKS) : [];
  return [...argumentsOf(text, RUNS), ...checks];
};

/** Run only where there is no /proc. */
const NOT_ON_LINUX = ['libs/embedded/test/programs.ts: ps'];

const runIn = (file: string): readonly string[] =>
  runBy(file)
    .flatMap((argument) => namesOf(textOf(file), argument) ?? [])
    .filter((program) => !NOT_ON_LINUX.includes(`${file}: ${program}`));

const unknownIn = (file: string): readonly string[] =>
  runBy(file)
    .filter((argument) => namesOf(textOf(file), argument) === undefined)
    .map((argument) => `${file}: ${argument}`);

const guardedIn = (file: string): readonly string[] =>
  [...textOf(file).matchAll(GUARDS)].flatMap(([, list = '']) =>
    list
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== ''),
  );

const listedIn = (file: string): ReadonlySet<string> =>
  new Set(guardedIn(file).flatMap((argument) => namesOf(textOf(file), argument) ?? []));

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

  it('names them, in its guard and where it runs them, so that the list can be checked', () => {
    const files = [...new Set(specs.flatMap((file) => [file, ...helpersOf(file)]))];
    const unknown = files.flatMap(unknownIn).filter((one) => !Object.hasOwn(BY_VARIABLE, one));
    const unknownGuards = files.flatMap((file) =>
      guardedIn(file)
        .filter((argument) => namesOf(textOf(file), argument) === undefined)
        .map((argument) => `${file}: a guard with ${argument}`),
    );
    expect([...unknown, ...unknownGuards]).toEqual([]);
    expect(Object.keys(BY_VARIABLE).filter((one) => !files.flatMap(unknownIn).includes(one))).toEqual([]);
  });
});
