import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const FOLDER = fileURLToPath(new URL('../docs/adr/', import.meta.url));
const textOf = (file: string): string => readFileSync(FOLDER + file, 'utf8');

interface Decision {
  readonly file: string;
  readonly number: number;
  readonly title: string;
  /** The status line. */
  readonly status: string;
}

const decisionOf = (file: string): Decision => {
  const [, title = '', status = ''] = /^# (.+)\n\nStatus: ([\s\S]*?)\n\n/u.exec(textOf(file)) ?? [];
  return { file, number: Number(file.slice(0, 4)), title, status: status.replaceAll('\n', ' ') };
};

const DECISIONS = readdirSync(FOLDER)
  .filter((file) => /^\d{4}-/u.test(file))
  .map(decisionOf);

const INDEX = textOf('README.md');
const entries = [...INDEX.matchAll(/^- \[(\d+\. [^\]]+)\]\(([^)]+)\)$/gmu)].map(([, title = '', file = '']) => ({
  title,
  file,
}));

/** The relation that a page declares to another one, and the inverse relation that the other one declares. */
const INVERSE = { Supersedes: 'superseded by', Amends: 'Amended by', Extends: 'Extended by' } as const;

/** The pages that the status line links to after these words. */
const linksAfter = (words: string, status: string): readonly string[] =>
  status
    .split('. ')
    .filter((part) => part.startsWith(words))
    .flatMap((part) => [...part.matchAll(/\]\(([^)]+)\)/gu)].map(([, file = '']) => file));

const decisionIn = (file: string): Decision | undefined => DECISIONS.find((decision) => decision.file === file);

const oneWayLinks = ({ file, status }: Decision): readonly string[] =>
  Object.entries(INVERSE).flatMap(([words, inverse]) => [
    ...linksAfter(words, status)
      .filter((other) => !linksAfter(inverse, decisionIn(other)?.status ?? '').includes(file))
      .map((other) => `${file}: "${words} ${other}", which does not say "${inverse}" it`),
    ...linksAfter(inverse, status)
      .filter((other) => !linksAfter(words, decisionIn(other)?.status ?? '').includes(file))
      .map((other) => `${file}: "${inverse} ${other}", which does not say "${words}" it`),
  ]);

/** For example 0033-one-reconciler-for-every-service.md for "33. One reconciler for every service". */
const fileNameOf = (title: string): string => {
  const [, number = '', words = ''] = /^(\d+)\. (.+)$/u.exec(title) ?? [];
  const slug = words
    .toLowerCase()
    .replaceAll("'", '')
    .replaceAll(/[^a-z0-9]+/gu, '-');
  return `${number.padStart(4, '0')}-${slug.replaceAll(/^-|-$/gu, '')}.md`;
};

/** Whether the index lists this number, or a range with it, among the numbers without a page. */
const isExplained = (number: number): boolean => {
  const [, listed = ''] = /^Numbers without a page \(([^)]*)\)/mu.exec(INDEX) ?? [];
  return [...listed.matchAll(/(\d+)(?: to (\d+))?/gu)].some(
    ([, from, to = from]) => Number(from) <= number && number <= Number(to),
  );
};

describe('the decisions', () => {
  it('have the title in the index that their page has', () => {
    expect(DECISIONS.length).toBeGreaterThan(80);
    const byFile = (left: { file: string }, right: { file: string }): number => left.file.localeCompare(right.file);
    expect(entries.toSorted(byFile)).toEqual(DECISIONS.map(({ title, file }) => ({ title, file })).toSorted(byFile));
  });

  it('have the number of their file in their title', () =>
    expect(DECISIONS.filter(({ number, title }) => !title.startsWith(`${number}. `))).toEqual([]));

  it('have a file that is named after their title', () =>
    expect(DECISIONS.filter(({ file, title }) => file !== fileNameOf(title)).map(({ file }) => file)).toEqual([]));

  it('are accepted or superseded', () =>
    expect(DECISIONS.filter(({ status }) => !/^(accepted|superseded by \[)/u.test(status))).toEqual([]));

  it('link to each other in both directions where one changes another', () =>
    expect(DECISIONS.flatMap(oneWayLinks)).toEqual([]));

  it('are listed under "Superseded" if another page supersedes them', () => {
    const [, superseded = ''] = INDEX.split('## Superseded');
    const misplaced = DECISIONS.filter(
      ({ file, status }) => status.startsWith('superseded') !== superseded.includes(`(${file})\n`),
    ).map(({ file }) => file);
    expect(misplaced).toEqual([]);
  });

  it('have an explanation for each number without a page', () => {
    const numbers = new Set(DECISIONS.map(({ number }) => number));
    const last = Math.max(...numbers);
    const missing = Array.from({ length: last }, (_, index) => index + 1).filter((number) => !numbers.has(number));
    expect(missing.filter((number) => !isExplained(number))).toEqual([]);
  });
});
