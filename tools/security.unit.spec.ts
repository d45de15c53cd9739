import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENT = readFileSync(`${ROOT}docs/security.md`, 'utf8');

const SPEC = /\.(unit|int|sim|e2e)\.spec\.ts$/;
const PATH = /`((?:apps|libs|test|tools)\/[^`\s]+)`/g;

const pathsIn = (text: string): readonly string[] => [...text.matchAll(PATH)].map(([, path = '']) => path);

/** A path may name a spec file, a folder with specs (`apps/cli/src/io`), or the start of a file name (`…/cluster`). */
const hasSpec = (path: string): boolean => {
  const full = `${ROOT}${path}`;
  if (existsSync(full) && statSync(full).isFile()) return true;
  if (existsSync(full) && readdirSync(full, { recursive: true, encoding: 'utf8' }).some((name) => SPEC.test(name)))
    return true;
  const cut = full.lastIndexOf('/');
  const [folder, name] = [full.slice(0, cut), full.slice(cut + 1)];
  return existsSync(folder) && readdirSync(folder).some((file) => file.startsWith(`${name}.`) && SPEC.test(file));
};

interface Row {
  readonly line: number;
  readonly cells: readonly string[];
}

const cellsOf = (line: string): readonly string[] =>
  line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());

/**
 * The rows of each table of attacks, without its header. Every line that begins with a bar is a row, even if it is
 * incomplete.
 */
const rowsIn = (document: string): readonly Row[] => {
  const first = document.indexOf('## Attackers');
  const before = document.slice(0, first).split('\n').length - 1;
  const lines = document.slice(first).split('\n');
  const isRow = (line: string | undefined): boolean => line?.trimStart().startsWith('|') === true;
  return lines.flatMap((line, at): readonly Row[] => {
    const isHead = !isRow(lines[at - 1]) || /^[\s|:-]+$/.test(line);
    return isRow(line) && !isHead ? [{ line: before + at + 1, cells: cellsOf(line) }] : [];
  });
};

/** Rows without an attack, a defence or at least one test. */
const incompleteIn = (document: string): readonly string[] =>
  rowsIn(document)
    .filter(({ cells }) => {
      const [attack, defence, tests, ...others] = cells;
      const isWhole = attack !== '' && defence !== undefined && defence !== '' && others.length === 0;
      return !isWhole || pathsIn(tests ?? '').length === 0;
    })
    .map(({ line, cells }) => `line ${line}: ${cells[0]}`);

const TABLE = `## Attackers

| Attack | Defence | Shown by |
| ------ | ------- | -------- |
`;

describe('docs/security.md', () => {
  it.each([...new Set(pathsIn(DOCUMENT))])('names %s, which exists and has specs', (path) =>
    expect([path, hasSpec(path)]).toEqual([path, true]),
  );

  it('names a test in every row of its attack tables', () => {
    expect(rowsIn(DOCUMENT).length).toBeGreaterThan(30);
    expect(incompleteIn(DOCUMENT)).toEqual([]);
  });

  it.each([
    '| Guess a token | tokens are long |',
    '| Guess a token | tokens are long | |',
    '| Guess a token | tokens are long | believe it |',
    '| Guess a token |',
    '| Guess a token',
    '| Guess a token | tokens are long | `tools/security.unit.spec.ts` | and more |',
    '| Guess a token | | `tools/security.unit.spec.ts` |',
  ])('rejects this row: %s', (row) => expect(incompleteIn(`${TABLE}${row}\n`)).toEqual(['line 5: Guess a token']));

  it('accepts a row that names its tests', () =>
    expect(
      incompleteIn(`${TABLE}| Guess \\| steal a token | tokens are long | \`tools/security.unit.spec.ts\` |\n`),
    ).toEqual([]));
});
