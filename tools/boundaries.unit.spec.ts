import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The project types that the sources of each type may import (`tags` in `project.json`). Imports within a project are
 * always allowed.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  // Every type may use the parsers, since all of them parse untrusted text.
  'type:parsers': [],
  'type:contracts': ['type:parsers'],
  'type:domain': ['type:parsers', 'type:contracts'],
  'type:pure': ['type:parsers', 'type:contracts'],
  'type:kernel': ['type:parsers', 'type:contracts', 'type:domain'],
  'type:adapter': ['type:parsers', 'type:contracts'],
  'type:tool': ['type:parsers', 'type:contracts', 'type:pure', 'type:tool'],
  'type:kit': ['type:parsers', 'type:contracts', 'type:domain', 'type:kernel', 'type:pure', 'type:tool'],
  'type:lab': ['type:parsers', 'type:contracts', 'type:adapter', 'type:pure'],
  'type:client': ['type:parsers', 'type:contracts', 'type:domain', 'type:client', 'type:kernel', 'type:tool'],
  'type:page': ['type:parsers', 'type:contracts', 'type:domain', 'type:client'],
  // Without the domain: the agent's bundle is copied to every host and compiled at each start.
  'type:agent': ['type:parsers', 'type:contracts', 'type:pure', 'type:tool'],
  // Imports nothing, so that the specs of every project can import it. The other rows keep sources from importing it.
  'type:testing': [],
  'type:service': [
    'type:parsers',
    'type:contracts',
    'type:domain',
    'type:adapter',
    'type:kernel',
    'type:kit',
    'type:pure',
    'type:tool',
  ],
};
/** The specs of `kubernetes` use the lab, which depends on it: Nx cannot order builds with a cycle. */
const UNDECLARED: readonly string[] = ['kubernetes imports lab'];

interface Project {
  readonly name: string;
  readonly folder: string;
  readonly tags: readonly string[];
  readonly implicitDependencies: readonly string[];
}

const json = <T>(file: string): T => JSON.parse(readFileSync(join(root, file), 'utf8')) as T;

const projects: readonly Project[] = ['apps', 'libs', 'tools'].flatMap((group) =>
  readdirSync(join(root, group))
    .map((name) => `${group}/${name}`)
    .filter((folder) => existsSync(join(root, folder, 'project.json')))
    .map((folder) => ({ ...json<Omit<Project, 'folder'>>(`${folder}/project.json`), folder })),
);

const filesIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const at = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return ['dist', 'node_modules'].includes(entry.name) ? [] : filesIn(at);
    return /\.tsx?$/.test(entry.name) ? [at] : [];
  });

const isBuilt = (file: string): boolean =>
  /^\w+\/[^/]+\/src\//.test(file) && !/\.(spec|features|fixtures)\.ts$/.test(file);

/** The imports of a file from other projects, each with its path and project. */
const importsIn = (file: string, text: string): readonly { path: string; name: string }[] => {
  const own = projects.find(({ folder }) => file.startsWith(`${folder}/`));
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].flatMap(([, path = '']) => {
    const scoped = /^@fairlead\/([^/]+)/.exec(path)?.[1];
    const target = path.startsWith('.') ? `${normalize(join(dirname(file), path))}/` : undefined;
    const found = projects.find(({ folder }) => target?.startsWith(`${folder}/`) ?? folder.endsWith(`/${scoped}`));
    return found === undefined || found === own ? [] : [{ path, name: found.name }];
  });
};

/** The other projects that a file imports. */
const importedBy = (file: string, text: string): readonly string[] => importsIn(file, text).map(({ name }) => name);

const importsOf = ({ folder }: Project, desired: (file: string) => boolean): readonly string[] => [
  ...new Set(
    filesIn(folder)
      .filter(desired)
      .flatMap((file) => importedBy(file, readFileSync(join(root, file), 'utf8'))),
  ),
];

const typeOf = (name: string): string => projects.find((project) => project.name === name)?.tags.join() ?? '';

/** The imports that a project of this type may not have; empty if all are allowed. */
const forbidden = (type: string, imported: readonly string[]): readonly string[] =>
  imported.flatMap((name) => (MAY_IMPORT[type]?.includes(typeOf(name)) === true ? [] : [`${type} imports ${name}`]));

describe('the projects of the workspace', () => {
  it('have exactly one tag, which determines their imports', () => {
    const known = Object.keys(MAY_IMPORT);
    expect(
      projects.filter(({ tags }) => tags.length !== 1 || !known.includes(tags[0]!)).map(({ name }) => name),
    ).toEqual([]);
    expect(projects.length).toBeGreaterThan(15);
  });

  it.each(projects)('$name imports only what its tag allows', (project) => {
    expect(forbidden(project.tags[0]!, importsOf(project, isBuilt))).toEqual([]);
  });

  it('are checked: a service that imports another service or the lab is reported', () => {
    const text = `import { a } from '../../infra-svc/src/machines/surges.js';\nimport { b } from '@fairlead/lab/testing/kubernetes';`;
    const imported = importedBy('apps/gateway/src/main.ts', text);
    expect(forbidden('type:service', imported)).toEqual(['type:service imports infra-svc', 'type:service imports lab']);
  });

  it('are checked: an agent that imports the domain is reported', () => {
    const imported = importedBy('apps/node-agent/src/main.ts', `import { sentenceOfEvent } from '@fairlead/domain';`);
    expect(forbidden('type:agent', imported)).toEqual(['type:agent imports domain']);
  });

  it('import only @fairlead/lab/testing of the lab in their specs', () => {
    const imported = ['apps', 'libs', 'tools', 'test']
      .flatMap(filesIn)
      .flatMap((file) => importsIn(file, readFileSync(join(root, file), 'utf8')))
      .flatMap(({ path, name }) => (name === 'lab' ? [path] : []));
    expect(imported.filter((path) => !path.startsWith('@fairlead/lab/testing/'))).toEqual([]);
    expect(imported.length).toBeGreaterThan(4);
  });

  it('import test helpers only in specs, fixtures and simulations', () => {
    const imported = importedBy('apps/gateway/src/main.ts', `import { seededRandom } from '@fairlead/testing';`);
    expect(forbidden('type:service', imported)).toEqual(['type:service imports testing']);
    expect(Object.keys(MAY_IMPORT).filter((type) => MAY_IMPORT[type]?.includes('type:testing'))).toEqual([]);
  });

  it.each(projects)('$name is built after its imports', (project) => {
    const { references = [] } = json<{ references?: { path: string }[] }>(`${project.folder}/tsconfig.json`);
    const referred = references.map(({ path }) => normalize(join(project.folder, path)));
    const folders = importsOf(project, isBuilt).map((name) => projects.find((other) => other.name === name)!.folder);
    expect(referred.toSorted()).toEqual(folders.toSorted());
  });

  it.each(projects)('$name is affected by the imports of its sources and specs', (project) => {
    const imported = importsOf(project, () => true).filter(
      (name) => !UNDECLARED.includes(`${project.name} imports ${name}`),
    );
    expect(project.implicitDependencies.toSorted()).toEqual(imported.toSorted());
  });

  it('affect the specs that cover the whole workspace', () => {
    const { implicitDependencies } = json<Project>('test/project.json');
    expect(implicitDependencies.toSorted()).toEqual(projects.map(({ name }) => name).toSorted());
  });
});
