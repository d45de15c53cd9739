import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('..', import.meta.url));
const FIELDS = ['dependencies', 'optionalDependencies', 'devDependencies'] as const;

type Versions = Readonly<Record<string, string>>;
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: unknown;
  readonly dependencies?: Versions;
  readonly optionalDependencies?: Versions;
  readonly devDependencies?: Versions;
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest;

const packages = ['apps', 'libs', 'tools'].flatMap((group) =>
  readdirSync(join(root, group), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, group, entry.name, 'package.json')))
    .map(({ name }) => `${group}/${name}`),
);
const manifests = new Map(packages.map((folder) => [folder, manifestOf(folder)]));
const own = new Map([...manifests.values()].map(({ name, version }) => [name, version]));
const all = manifestOf('.');

/** Specs are run from the root and use its packages. */
const IS_SPEC = /\.(spec|features|fixtures|trial)\.ts$/u;
const IMPORT =
  /(?:^|\s)(?:import|export)[^'";]*?from\s*'([^'.][^']*)'|^import\s+'([^'.][^']*)'|import\('([^'.][^']*)'\)/gmu;

const packageOf = (imported: string): string =>
  imported
    .split('/')
    .slice(0, imported.startsWith('@') ? 2 : 1)
    .join('/');

const sourcesIn = (folder: string): readonly string[] => {
  const at = join(root, folder, 'src');
  if (!existsSync(at)) return [];
  const names = readdirSync(at, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /\.tsx?$/u.test(name) && !IS_SPEC.test(name)).map((name) => join(at, name));
};

const importedBy = (folder: string): ReadonlySet<string> =>
  new Set(
    sourcesIn(folder)
      .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(IMPORT)])
      .map(([, named, bare, dynamic]) => packageOf(named ?? bare ?? dynamic ?? ''))
      .filter((name) => !name.startsWith('node:') && !builtinModules.includes(name))
      .filter((name) => name !== manifests.get(folder)?.name),
  );

/**
 * The field and version with which the root declares a package. Every package declares the same version, so that only
 * one is installed.
 */
const expectedOf = (name: string): readonly [field: string, version: string] => {
  const ours = own.get(name);
  if (ours !== undefined) return ['dependencies', ours];
  const field = FIELDS.find((one) => all[one]?.[name] !== undefined);
  return field === undefined
    ? ['dependencies', 'a version in the package.json of the root']
    : [field, all[field]?.[name] ?? ''];
};

const declaredBy = (folder: string): readonly string[] =>
  FIELDS.flatMap((field) =>
    Object.entries(manifests.get(folder)?.[field] ?? {}).map(([name, version]) => `${field} ${name} ${version}`),
  ).toSorted();

const neededBy = (folder: string): readonly string[] =>
  [...importedBy(folder)]
    .map((name) => {
      const [field, version] = expectedOf(name);
      return `${field} ${name} ${version}`;
    })
    .toSorted();

const filesIn = (exported: unknown): readonly string[] =>
  typeof exported === 'string' ? [exported] : Object.values(exported ?? {}).flatMap(filesIn);

describe('the packages', () => {
  it.each(packages)('%s declares exactly the packages that its sources import', (folder) =>
    expect(declaredBy(folder)).toEqual(neededBy(folder)),
  );

  it.each(packages)('%s exports only files that exist', (folder) => {
    const sources = filesIn(manifests.get(folder)?.exports)
      .filter((file) => !file.includes('*'))
      .map((file) => file.replace('./dist/', 'src/').replace(/\.js$/u, '.ts'));
    expect(sources.filter((file) => !existsSync(join(root, folder, file)))).toEqual([]);
  });
});
