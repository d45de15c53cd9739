import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('..', import.meta.url));
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Words that no documentation of this field uses, and terms that have another name here (docs/glossary.md). */
const BANNED_IN_TEXT =
  /\b(shall|anew|tells?|told|somebody|nobody|everybody|wish(es|ed)?|mend(s|ed|ing)?|park(s|ed|ing)?|lanes?|roll-outs?|oneself|upon yourself)\b|\bof before\b|\bcan(not)? be had\b|(?<!there )\bis no (?!longer\b)/giu;
const BANNED_IN_COMMENTS =
  /\b(shall|anew|tells?|told|somebody|nobody|everybody|wish(es|ed)?|mend(s|ed|ing)?|oneself)\b|\bof before\b/giu;
/** Personified programs and calques, in prose that is written by hand. */
const BANNED_IN_PROSE =
  /\b(speaks?|hears?|heard|wanted|no one|for ever|upon oneself|of one's own|be had)\b|\b(is|are|was|were) to be\b|\bin (its|their) own words\b/giu;
/** Families of names that were given up: wish is request, park is quarantine, lane is a partition's consumer. */
const BANNED_IN_NAMES =
  /(?<![A-Za-z])(wish|unpark|parked|parking|anew)(?![a-z])|(Wish(es|ed)?|Parked|Parking|Anew)(?![a-z])|(?<![A-Za-z])Lanes?(?![a-z])/u;

/** Quotations: code, titles of tests, link targets, and titles that others wrote. */
const withoutQuotations = (text: string): string =>
  text
    .replaceAll(/\[[^\n]*?\]\([^)\n]*\.(spec|features)\.ts\)/gu, '')
    .replaceAll(/```[\s\S]*?```/gu, '')
    .replaceAll(/\]\([^)\n]*\)/gu, ']')
    .replaceAll(/`[^`\n]*`/gu, '')
    .replaceAll(/"[^"\n]*"/gu, '');

const bannedIn = (name: string, text: string, banned = BANNED_IN_TEXT): readonly string[] =>
  text
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(banned)].map(([word]) => `${name}:${index + 1}: "${word}" in: ${line.trim().slice(0, 160)}`),
    );

const markdownIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** The texts of the API and event documents: `summary`, `description` and the like. */
const describedIn = (value: unknown): readonly string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === 'string' && /^(summary|description|title)$/u.test(key) ? [inner] : describedIn(inner),
  );
};

const GENERATED: ReadonlySet<string> = new Set([
  'docs/reports/checklists.md',
  'docs/cli.md',
  'docs/events.md',
  'docs/refusals.md',
  'docs/upgrades.md',
]);
const isWritten = (path: string): boolean => !GENERATED.has(path) && !path.endsWith('conformance.md');

const trackedFiles = (...patterns: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => path !== '' && !path.endsWith('words.unit.spec.ts'));

/** Keeps the number of each line. */
const commentsOf = (source: string): string =>
  source
    .split('\n')
    .map((line) => /(?:^\s*\*|(?:^|\s)(?:\/\/|\/\*{1,2})) (.*)$/u.exec(line)?.[1] ?? '')
    .join('\n');

/** Their sentences are those of others: the conformance suite's, and what was asked. */
const hasOwnWords = (path: string): boolean =>
  !['docs/reports/conformance.md', 'docs/reports/checklists.md'].includes(path);

describe('the words of the project', () => {
  it.each(['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...markdownIn('docs').filter(hasOwnWords)])(
    'of %s are those of the field',
    (path) => expect(bannedIn(path, withoutQuotations(textOf(path)))).toEqual([]),
  );

  it.each(
    [
      'README.md',
      'CONTRIBUTING.md',
      'CHANGELOG.md',
      'SECURITY.md',
      ...markdownIn('docs'),
      ...markdownIn('docs/adr'),
    ].filter(isWritten),
  )('of %s do not personify programs', (path) =>
    expect(bannedIn(path, withoutQuotations(textOf(path)), BANNED_IN_PROSE)).toEqual([]),
  );

  it('of the comments of the sources, the tools and the stories are those of the field', () => {
    const sources = trackedFiles('apps/*.ts', 'libs/*.ts', 'tools/*.ts', 'tools/*.mjs', 'test/*.ts').filter(
      (path) => !path.includes('/generated/'),
    );
    expect(sources.length).toBeGreaterThan(800);
    const found = sources.flatMap((path) => {
      const comments = withoutQuotations(commentsOf(textOf(path)));
      return [...bannedIn(path, comments, BANNED_IN_COMMENTS), ...bannedIn(path, comments, BANNED_IN_PROSE)];
    });
    expect(found).toEqual([]);
  });

  it.each(markdownIn('docs/adr'))('of the title of %s are those of the field', (path) => {
    const [title = ''] = textOf(path).split('\n');
    expect(bannedIn(path, title)).toEqual([]);
  });

  it.each(['docs/openapi.json', 'docs/asyncapi.json'])('that %s describes with are those of the field', (path) =>
    expect(
      describedIn(JSON.parse(textOf(path)))
        .flatMap((text) => bannedIn(path, withoutQuotations(text)))
        .slice(0, 20),
    ).toEqual([]),
  );

  it('that the history tells are those of the field', () =>
    expect(
      bannedIn('narrative.ts', textOf('libs/contracts/src/narrative.ts').replaceAll(/^\s*(\/\/|\/?\*).*$/gmu, '')),
    ).toEqual([]));

  it('that sources give to things are those of the glossary', () => {
    const sources = trackedFiles('*.ts');
    expect(sources.length).toBeGreaterThan(500);
    const named = sources.filter((path) => BANNED_IN_NAMES.test(path) || BANNED_IN_NAMES.test(codeOf(textOf(path))));
    expect(named).toEqual([]);
  });
});

/** Without comments. */
const codeOf = (source: string): string => source.replaceAll(/\/\*[\s\S]*?\*\//gu, '').replaceAll(/^\s*\/\/.*$/gmu, '');
