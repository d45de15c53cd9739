import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REFUSALS } from '@fairlead/contracts';
import { projectFiles } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { asyncApiDocument } from './generate/asyncapi.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Words that no documentation of this field uses, and terms that have another name here (docs/glossary.md). */
const BANNED_IN_TEXT =
  /\b(shall|anew|tells?|told|somebody|nobody|everybody|wish(es|ed)?|mend(s|ed|ing)?|park(s|ed|ing)?|lanes?|roll-outs?|oneself|upon yourself)\b|\bof before\b|\bcan(not)? be had\b|(?<!there )\bis no (?!longer\b)/giu;
const BANNED_IN_COMMENTS =
  /\b(shall|anew|tells?|told|somebody|nobody|everybody|wish(es|ed)?|mend(s|ed|ing)?|oneself)\b|\bof before\b/giu;
/** Personified programs and calques, in hand-written prose. */
const BANNED_IN_PROSE =
  /\b(speaks?|hears?|heard|wanted|no one|for ever|upon oneself|of one's own|be had)\b|\b(is|are|was|were) to be\b|\bin (its|their) own words\b/giu;
/** Old names: wish is now request, park is quarantine, lane is a partition's consumer. */
const BANNED_IN_NAMES =
  /(?<![A-Za-z])(wish|unpark|parked|parking|anew)(?![a-z])|(Wish(es|ed)?|Parked|Parking|Anew)(?![a-z])|(?<![A-Za-z])Lanes?(?![a-z])/u;

/** Forms that are hard to read in test titles. */
const BANNED_IN_TITLES =
  /\b(shall|anew|tells?|told|somebody|nobody|everybody|wish(es|ed)?|mend(s|ed|ing)?|oneself|speaks?|hears?|heard)\b|\bof before\b|\bbe had\b|\bany more\b|\bno more\b(?! (than|connections|warnings|of those)\b)|\bstays so\b|\b(is|are|was|were) to be\b|\bthat there (is|are)\b(?! (no|none|a|an|some)\b)|\b(is|are|be) well\b/giu;
/** The same forms in names of golden files, whose words are joined by dashes, and in identifiers. */
const BANNED_IN_FILES = /(^|-)(anew|told|somebody|nobody|forgone|be-had|goes-back|is-kept|keeps)(-|\.|$)/u;
const BANNED_IN_IDENTIFIERS =
  /(?<![A-Za-z])(told|untold|wished|somebody)(?![a-z])|[a-z](Told|Untold|Somebody|Nobody|Wished)(?![a-z])|(?<![A-Z])(UN)?TOLD(?![A-Z])/u;

/** Removes quotations: code, test titles, link targets, and titles by other authors. */
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

/** The texts of the API and event documents: `summary`, `description` and similar fields. */
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
  projectFiles(root, ...patterns).filter((path) => !path.endsWith('words.unit.spec.ts'));

/** Keeps the line numbers. */
const commentsOf = (source: string): string =>
  source
    .split('\n')
    .map((line) => /(?:^\s*\*|(?:^|\s)(?:\/\/|\/\*{1,2})) (.*)$/u.exec(line)?.[1] ?? '')
    .join('\n');

/** False for pages with sentences by other authors: the conformance suite, and the checklists. */
const hasOwnWords = (path: string): boolean =>
  !['docs/reports/conformance.md', 'docs/reports/checklists.md'].includes(path);

describe('the words of the project', () => {
  it.each(['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...markdownIn('docs').filter(hasOwnWords)])(
    'of %s are standard terms',
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

  it('of the comments of the sources, the tools and the stories are standard terms', () => {
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

  it.each(markdownIn('docs/adr'))('of the title of %s are standard terms', (path) => {
    const [title = ''] = textOf(path).split('\n');
    expect(bannedIn(path, title)).toEqual([]);
  });

  it.each([
    ['docs/openapi.json', JSON.parse(textOf('docs/openapi.json'))],
    ['the AsyncAPI document', asyncApiDocument('1')],
  ])('of the descriptions in %s are standard terms', (path, document) =>
    expect(
      describedIn(document)
        .flatMap((text) => bannedIn(path, withoutQuotations(text)))
        .slice(0, 20),
    ).toEqual([]),
  );

  it('of the history are standard terms', () =>
    expect(
      bannedIn('narrative.ts', textOf('libs/domain/src/narrative.ts').replaceAll(/^\s*(\/\/|\/?\*).*$/gmu, '')),
    ).toEqual([]));

  it('of the titles of tests are standard terms', () => {
    const specs = trackedFiles('*.spec.ts', '*.features.ts');
    expect(specs.length).toBeGreaterThan(400);
    const titles = specs.flatMap((path) => titlesOf(textOf(path)).map((title) => ({ path, title })));
    expect(titles.length).toBeGreaterThan(4_000);
    expect(titles.flatMap(({ path, title }) => bannedIn(path, title, BANNED_IN_TITLES))).toEqual([]);
  });

  it('of the names of golden files are standard terms', () => {
    const names = trackedFiles('*.golden').map((path) => path.slice(path.lastIndexOf('/') + 1));
    expect(names.length).toBeGreaterThan(50);
    // A user on a host has the name nobody.
    expect(names.filter((name) => BANNED_IN_FILES.test(name) && name !== 'authentication.nobody.yaml.golden')).toEqual(
      [],
    );
  });

  it('of identifiers are standard terms', () => {
    const named = trackedFiles('apps/*.ts', 'libs/*.ts', 'tools/*.ts', 'tools/*.mjs', 'test/*.ts').flatMap((path) =>
      withoutTexts(codeOf(textOf(path)))
        .split('\n')
        // A line that begins with # is a comment of a shell script.
        .filter((line) => BANNED_IN_IDENTIFIERS.test(line) && !/^\s*#/u.test(line))
        .map((line) => `${path}: ${line.trim().slice(0, 120)}`),
    );
    expect(named).toEqual([]);
  });

  it('of names in sources are those of the glossary', () => {
    const sources = trackedFiles('*.ts');
    expect(sources.length).toBeGreaterThan(500);
    const named = sources.filter((path) => BANNED_IN_NAMES.test(path) || BANNED_IN_NAMES.test(codeOf(textOf(path))));
    expect(named).toEqual([]);
  });
});

/** The first string argument of `it(`, `describe(`, `it.each(…)(` and similar calls. */
const titlesOf = (source: string): readonly string[] =>
  [
    ...source.matchAll(
      /(?<=^|[\s;,(])(?:it|test|describe)(?:With\w*|In\w+)?(?:\.\w+)*(?:\([^'"`\n]*\)|\([\s\S]{0,2000}?\n\s*\]( as const)?\))?\(\s*(?:'((?:[^'\\]|\\.)*)'|"([^"]*)"|`([^`]*)`)/gmu,
    ),
  ].map((match) => match.slice(2).find((title) => title !== undefined) ?? '');

/** Removes string literals on one line. */
const withoutTexts = (code: string): string =>
  code.replaceAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\\n]|\\.)*`/gu, "''");

/** Removes comments. */
const codeOf = (source: string): string => source.replaceAll(/\/\*[\s\S]*?\*\//gu, '').replaceAll(/^\s*\/\/.*$/gmu, '');

/**
 * Texts that users could not understand, each with its kind. Matched in sources of user-visible text, as quoted strings
 * or templates.
 */
const GIVEN_UP: Readonly<Record<string, RegExp>> = {
  'an attempt that is the last of several, or of one': /that was the last attempt|attempt 1 of 1\b/u,
  'a wait for an attempt that nothing names': /another attempt at \$\{|for another attempt at/u,
  'a failure as something that could not be made sure': /could not be ensured|cannot be ensured/u,
  'rules that talk': /\brules? [A-Z\d${}.()a-z]* ?says\b|\brule says\b/u,
  'a place by a preposition': /`at \$\{(field|path|place)\}|[.;] at \$\{(field|path)\}/u,
  'a log that has something not yet': /has no event \$\{[^}]*\} yet/u,
  'nodes that are heard of': /\b(not|is|be) heard\b|heard of since/u,
  'a heartbeat that comes': /no heartbeat of (its|the) agent|heartbeat [^'`]*\bcomes\b/u,
  'a state and its opposite': /Ready, no heartbeat/u,
  'work that is not begun': /is not begun|, desired done/u,
  'resources as what is held': /release what it holds outside/u,
  'a count of others in brackets': /\(with \$\{[^}]*\} more\)/u,
  'an end without its subject': /\bit ends at \$\{|is to end at/u,
  'a call as a question': /without being asked, because/u,
  'numbers that need no plural, or the wrong one':
    /\b1 (clusters|nodes|pools|machines|hours|minutes)\b|are taken, and/u,
  'a result that names the request, not the thing': /The \$\{[^}]*\bwhat\} of the etcd/u,
  'a comparative after its noun': /\b(machines|nodes|workers|pods|hosts) more\b/u,
  'a day in minutes': /valid for \$\{[^}]*60\)\} min/u,
  'hosts that go back': /goes back to the stock|back to the stock/u,
  'nodes as people': /was found dead|found dead/u,
  'a title for one role that all have': /Leave etcd and Kubernetes/u,
  'a stop that is said twice': /Stopped (watching|waiting): /u,
  'what is normal as a sentence': /are as they should be/u,
  'two spellings of one word': /lower-case|upper-case|time-out\b/iu,
};

describe('texts that users could not understand', () => {
  // The lab and the specs imitate other systems; comments are for developers.
  const sources = trackedFiles('apps/*.ts', 'libs/*.ts').filter(
    (path) => !/\.(spec|fixtures|trial)\.ts$|\/generated\/|^apps\/lab\//u.test(path),
  );
  const lines = sources.flatMap((path) => {
    const code = codeOf(textOf(path));
    return code.split('\n').flatMap((text) => (/['"`]/u.test(text) ? [{ path, text }] : []));
  });

  it.each(Object.entries(GIVEN_UP))('are not used: %s', (_kind, pattern) => {
    expect(lines.length).toBeGreaterThan(10_000);
    const found = lines.filter(({ text }) => pattern.test(text));
    expect(found.map(({ path, text }) => `${path}: ${text.trim().slice(0, 160)}`)).toEqual([]);
  });

  it('do not include advice that repeats the sentence before it', () => {
    const wordsIn = (text: string): readonly string[] => text.toLowerCase().match(/[a-z]{4,}/gu) ?? [];
    const refusals = Object.entries(
      REFUSALS as Readonly<Record<string, { readonly sentence: string; readonly help: string }>>,
    );
    const repeated = refusals.filter(([, { sentence, help }]) => {
      const [said, advice] = [new Set(wordsIn(sentence)), wordsIn(help)];
      const again = advice.filter((word) => said.has(word)).length;
      return advice.length >= 4 && again / advice.length > 0.7;
    });
    expect(repeated.map(([code]) => code)).toEqual([]);
  });
});
