import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The project's own files that match one of the patterns, relative to its root, sorted: everything not matched by
 * .gitignore. As in git, `*` also matches `/`. Does not require git, so that a machine without it runs every spec.
 */
export const projectFiles = (root: string, ...patterns: readonly string[]): readonly string[] => {
  const isIgnored = ignoredBy(readFileSync(join(root, '.gitignore'), 'utf8'));
  const wanted = patterns.map(expressionOf);
  return filesBelow(root, '', isIgnored)
    .filter((path) => wanted.some((expression) => expression.test(path)))
    .sort();
};

type IsIgnored = (path: string, isFolder: boolean) => boolean;

const filesBelow = (root: string, folder: string, isIgnored: IsIgnored): readonly string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name === '.git' || isIgnored(path, entry.isDirectory())) return [];
    return entry.isDirectory() ? filesBelow(root, path, isIgnored) : [path];
  });

const ignoredBy = (gitignore: string): IsIgnored => {
  const rules = gitignore
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(ruleOf);
  return (path, isFolder) => rules.some((rule) => rule(path, isFolder));
};

const ruleOf = (line: string): IsIgnored => {
  if (/^[!/]|\*\*|[[\]?\\]/u.test(line))
    throw new Error(`.gitignore: "${line}" has a form that projectFiles does not read`);
  const name = line.replace(/\/$/u, '');
  const isForFolders = name !== line;
  const expression = new RegExp(
    `^${name.includes('/') ? '' : '(?:.*/)?'}${escaped(name).replaceAll('*', '[^/]*')}$`,
    'u',
  );
  return (path, isFolder) => (isFolder || !isForFolders) && expression.test(path);
};

const expressionOf = (pattern: string): RegExp => new RegExp(`^${escaped(pattern).replaceAll('*', '.*')}$`, 'u');

/** All special characters except `*`. */
const escaped = (text: string): string => text.replaceAll(/[.+?^${}()|[\]\\]/gu, '\\$&');
