import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectFiles } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('..', import.meta.url));
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

const tracked = (...patterns: readonly string[]): readonly string[] => projectFiles(root, ...patterns);

const markdownIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** Compared with the code by `npm run generate:check` and by a spec of the CLI. */
const GENERATED: ReadonlySet<string> = new Set(['docs/cli.md', 'docs/events.md', 'docs/refusals.md']);
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...['docs', 'docs/adr', 'docs/reports'].flatMap(markdownIn),
];
const WRITTEN = PAGES.filter((page) => !GENERATED.has(page));

const FENCE = /^( *)```.*\n[\s\S]*?^\1```$/gmu;

/** The content of fenced blocks, indented blocks and inline code. */
const codeIn = (text: string): readonly string[] => [
  ...[...text.matchAll(FENCE)].map(([block]) => block),
  ...[...text.replaceAll(FENCE, '').matchAll(/^ {4,}\S.*$/gmu)].map(([line]) => line),
  ...[...text.replaceAll(FENCE, '').matchAll(/`([^`\n]+)`/gu)].map(([, code = '']) => code),
];

const withoutCode = (text: string): string =>
  text.replaceAll(FENCE, '').replaceAll(/`[^`\n]+`/gu, (code) => 'x'.repeat(code.length));

interface Link {
  readonly page: string;
  readonly target: string;
}

const linksOf = (page: string): readonly Link[] =>
  [...withoutCode(textOf(page)).matchAll(/\]\(([^)\s]+)\)/gu)]
    .map(([, target = '']) => ({ page, target }))
    .filter(({ target }) => !/^[a-z]+:/u.test(target));

/** The anchor that GitHub generates for a heading. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

const anchorsOf = (page: string): readonly string[] => {
  const headings = [
    ...textOf(page)
      .replaceAll(FENCE, '')
      .matchAll(/^#{1,6} (.+)$/gmu),
  ].map(([, heading = '']) => anchorOf(heading));
  return headings.map((anchor, at) => {
    const before = headings.slice(0, at).filter((other) => other === anchor).length;
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
};

const brokenLink = ({ page, target }: Link): readonly string[] => {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(root, file))) return [`${page}: ${target} does not exist`];
  return anchor === undefined || anchorsOf(file).includes(anchor) ? [] : [`${page}: ${target} has no such heading`];
};

/** A path in the repository: without placeholders, globs and build output. */
const PATH = /(?<![\w./$"{}-])(?:apps|libs|tools|test|docs)\/[\w./-]*[\w/]/gu;
const isBuilt = (path: string): boolean => /(^|\/)(dist|node_modules)(\/|$)/u.test(path);

/** An API group and version of Kubernetes that looks like a path in `apps`. */
const isApiVersion = (path: string): boolean => path === 'apps/v1';

const pathsIn = (page: string): readonly string[] =>
  codeIn(textOf(page)).flatMap((code) =>
    [...code.matchAll(PATH)]
      .filter(
        ({ 0: path, index }) =>
          !isBuilt(path) && !isApiVersion(path) && !/^[-.]?[*<{…]/u.test(code.slice(index + path.length)),
      )
      .map(([path]) => path),
  );

const scripts = Object.keys((JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }).scripts);

const unknownScripts = (page: string): readonly string[] =>
  codeIn(textOf(page))
    .flatMap((code) => [...code.matchAll(/\bnpm (?:run (?:--silent )?)?([a-z][\w:-]*)/gu)])
    .filter(
      ([words, name = '']) => !scripts.includes(name) && (words.startsWith('npm run') || /^(start|test)$/u.test(name)),
    )
    .map(([words]) => `${page}: ${words}`);

/** Options by command, from the CLI reference; the shared options have the key ''. */
const cli = ((): ReadonlyMap<string, ReadonlySet<string>> => {
  const optionsIn = (text: string): ReadonlySet<string> =>
    new Set(
      [...text.matchAll(/^\| `([^`]+)` \|/gmu)].flatMap(([, flags = '']) => flags.match(/--?[a-z][a-z-]*/gu) ?? []),
    );
  const [head = '', ...sections] = textOf('docs/cli.md').split(/^### fairlead /mu);
  return new Map([
    ['', optionsIn(head)],
    ...sections.map((section) => [section.slice(0, section.indexOf('\n')), optionsIn(section)] as const),
  ]);
})();

/** Options that every command accepts, and `fairlead` without a command. */
const ALWAYS: ReadonlySet<string> = new Set(['--help', '-h', '--version', '-V']);

/** The longest command at the start of the words. A group without a subcommand runs `show`. */
const commandOf = (words: readonly string[]): string | undefined =>
  [words.slice(0, 3), words.slice(0, 2), words.slice(0, 1), [...words.slice(0, 1), 'show']]
    .map((candidate) => candidate.join(' '))
    .find((candidate) => cli.has(candidate));

const commandFault = (words: readonly string[]): string | undefined => {
  const bare = words.filter((word) => !word.startsWith('-'));
  if (bare.length === 0) return undefined;
  const name = commandOf(bare);
  const isGroup = bare.length === 1 && [...cli.keys()].some((command) => command.startsWith(`${bare[0]} `));
  if (name === undefined) return isGroup ? undefined : `there is no command "${bare.slice(0, 2).join(' ')}"`;
  const known = new Set([...ALWAYS, ...(cli.get('') ?? []), ...(cli.get(name) ?? [])]);
  const options = words.filter((word) => /^--?[a-z]/u.test(word)).map((word) => word.replace(/=.*$/u, ''));
  const unknown = options.filter((option) => !known.has(option));
  return unknown.length === 0 ? undefined : `"${name}" has no ${unknown.join(', ')}`;
};

/** The arguments of each call of `fairlead`, up to the end of the command; `npm start --` is `fairlead up --demo`. */
const commandsIn = (page: string): readonly (readonly string[])[] =>
  codeIn(textOf(page))
    .map((code) => code.replaceAll(/\bnpm start --(?= )/gu, 'fairlead up'))
    .flatMap((code) => [
      ...code.replaceAll(/\\\n\s*/gu, ' ').matchAll(/(?:^|npx |[\s(])fairlead ([a-z-][^\n#|;&)]*)/gmu),
    ])
    .map(([, words = '']) =>
      words
        .replaceAll(/"[^"]*"|'[^']*'/gu, 'x')
        .split(/\s+/u)
        .filter(Boolean),
    )
    .filter(([, second = '']) => !second.startsWith('<')); // Excludes the text that a mirror signature covers, which is not a command.

const refusals = ((): ReadonlyMap<string, ReadonlySet<string>> => {
  const codes = [...textOf('docs/refusals.md').matchAll(/^\| `([a-z]+)\.([a-z-]+)`/gmu)];
  return new Map(
    codes.map(([, noun = '']) => [
      noun,
      new Set(codes.flatMap(([, of, reason = '']) => (of === noun ? [reason] : []))),
    ]),
  );
})();

/** Codes like `cluster.paused`. File names like `master.key` are excluded: no code begins with their first word. */
const unknownRefusals = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/`([a-z]+)\.([a-z]+(?:-[a-z]+)*)`/gu)]
    .filter(([, noun = '', reason = '']) => refusals.get(noun)?.has(reason) === false)
    .map(([code]) => `${page}: ${code}`);

describe('the documentation', () => {
  it('links only to existing files and headings', () => expect(PAGES.flatMap(linksOf).flatMap(brokenLink)).toEqual([]));

  it('names only existing files and folders', () => {
    const files = tracked('*');
    const isThere = (path: string): boolean => {
      const bare = path.replace(/\/$/u, '');
      return files.some((file) => file === bare || file.startsWith(`${bare}/`) || file.startsWith(`${bare}.`));
    };
    const missing = WRITTEN.flatMap((page) =>
      pathsIn(page)
        .filter((path) => !isThere(path))
        .map((path) => `${page}: ${path}`),
    );
    expect([...new Set(missing)]).toEqual([]);
  });

  it('names an owner for every app and library, and only existing folders', () => {
    const owned = [...textOf('CODEOWNERS').matchAll(/^\/(\S+) +@/gmu)].map(([, path = '']) => path);
    const projects = ['apps', 'libs'].flatMap((folder) =>
      readdirSync(join(root, folder)).map((name) => `${folder}/${name}/`),
    );
    expect(projects.filter((project) => !owned.includes(project))).toEqual([]);
    expect(owned.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('keeps architecture.md and event-flows.md within 160 columns', () =>
    expect(
      ['docs/architecture.md', 'docs/event-flows.md'].flatMap((page) =>
        textOf(page)
          .split('\n')
          .filter((line) => line.length > 160),
      ),
    ).toEqual([]));

  it('names every app, library, service and reconciler in architecture.md', () => {
    const architecture = textOf('docs/architecture.md');
    const projects = ['apps', 'libs'].flatMap((folder) => readdirSync(join(root, folder)));
    const reconcilers = tracked('apps/*.reconciler.ts').flatMap((file) =>
      [...textOf(file).matchAll(/^ {2}name: '([^']+)'/gmu)].map(([, name = '']) => name),
    );
    expect(reconcilers.length).toBeGreaterThan(15);
    const isNamed = (name: string): boolean => new RegExp(`\`(apps/)?${name}\``, 'u').test(architecture);
    expect([...projects, ...reconcilers].filter((name) => !isNamed(name))).toEqual([]);
  });

  it('names only refusals from the catalogue', () => {
    expect(refusals.size).toBeGreaterThan(20);
    expect(WRITTEN.flatMap(unknownRefusals)).toEqual([]);
  });

  it('shows only npm scripts from package.json', () => expect(WRITTEN.flatMap(unknownScripts)).toEqual([]));

  it('shows only commands and options of the CLI', () => {
    const shown = WRITTEN.flatMap((page) => commandsIn(page).map((words) => ({ page, words })));
    expect(shown.length).toBeGreaterThan(50);
    const faults = shown.flatMap(({ page, words }) => {
      const fault = commandFault(words);
      return fault === undefined ? [] : [`${page}: fairlead ${words.join(' ')}: ${fault}`];
    });
    expect(faults).toEqual([]);
  });
});
