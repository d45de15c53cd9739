import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENT = readFileSync(`${ROOT}docs/security.md`, 'utf8');

const SPEC = /\.(unit|int|sim|e2e)\.spec\.ts$/;
const PATH = /`((?:apps|libs|test|tools)\/[^`\s]+)`/g;

const pathsIn = (text: string): readonly string[] => [...text.matchAll(PATH)].map(([, path = '']) => path);

/** A file that is named is one; `apps/cli/src/io` stands for the specs in that folder, and `…/cluster` for those of that name. */
const hasSpec = (path: string): boolean => {
  const full = `${ROOT}${path}`;
  if (existsSync(full) && statSync(full).isFile()) return true;
  if (existsSync(full) && readdirSync(full, { recursive: true, encoding: 'utf8' }).some((name) => SPEC.test(name)))
    return true;
  const cut = full.lastIndexOf('/');
  const [folder, name] = [full.slice(0, cut), full.slice(cut + 1)];
  return existsSync(folder) && readdirSync(folder).some((file) => file.startsWith(`${name}.`) && SPEC.test(file));
};

/** What stands in the tables of attacks: the attack, what holds, and the tests. */
const rows = DOCUMENT.slice(DOCUMENT.indexOf('## Attackers'))
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) => line.split('|').slice(1, -1))
  .filter((cells) => cells.length === 3 && !/^[\s-]+$/.test(cells[0] ?? '') && !/Shown by/.test(cells[2] ?? ''));

describe('docs/security.md', () => {
  it.each([...new Set(pathsIn(DOCUMENT))])('names %s, which exists and is tested', (path) =>
    expect([path, hasSpec(path)]).toEqual([path, true]),
  );

  it('names a test in every row of its tables of attacks', () => {
    expect(rows.length).toBeGreaterThan(30);
    const without = rows.filter(([, , tests = '']) => pathsIn(tests).length === 0).map(([attack]) => attack?.trim());
    expect(without).toEqual([]);
  });
});
