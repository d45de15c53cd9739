// The titles of all tests, parsed from the sources: no spec is built or run.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';

const ROOTS = ['apps', 'libs', 'test', 'tools'];
const SPEC = /\.(spec|features)\.ts$/;
const NOT_A_SOURCE = /(^|\/)(node_modules|dist)\//;

const TESTS = new Set(['describe', 'it', 'test']);

const isEach = (callee) => ts.isPropertyAccessExpression(callee) && callee.name.text === 'each' && isTest(callee);

/** `it`, `it.skip`, `it.each(rows)` and it.each`table` are all called with a title. */
const isTest = (callee) => {
  if (ts.isIdentifier(callee)) return TESTS.has(callee.text);
  if (ts.isPropertyAccessExpression(callee)) return isTest(callee.expression);
  if (ts.isCallExpression(callee)) return isEach(callee.expression);
  return ts.isTaggedTemplateExpression(callee) && isEach(callee.tag);
};

/** Replaces expressions whose value is known only at run time. */
const EXPRESSION = '…';

const textOf = (node) => {
  if (node === undefined) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return [node.head.text, ...node.templateSpans.map(({ literal }) => EXPRESSION + literal.text)].join('');
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken)
    return (textOf(node.left) ?? EXPRESSION) + (textOf(node.right) ?? EXPRESSION);
  return undefined;
};

/**
 * The titles in the source of one spec, in order, each with the titles of the surrounding groups. Tests whose title is
 * not a literal are omitted.
 */
export const titlesIn = (file, source) => {
  const titles = [];
  const visit = (groups) => (node) => {
    const title = ts.isCallExpression(node) && isTest(node.expression) ? textOf(node.arguments[0]) : undefined;
    if (title !== undefined) titles.push({ file, groups, title });
    ts.forEachChild(node, visit(title === undefined ? groups : [...groups, title]));
  };
  visit([])(ts.createSourceFile(file, source, ts.ScriptTarget.Latest));
  return titles;
};

const specsBelow = async (root, folder) => {
  const names = await readdir(join(root, folder), { recursive: true });
  return names.map((name) => join(folder, name)).filter((file) => SPEC.test(file) && !NOT_A_SOURCE.test(file));
};

/** The titles of every spec in the repository, by file. */
export const specTitles = async (root) => {
  const files = (await Promise.all(ROOTS.map((folder) => specsBelow(root, folder)))).flat().sort();
  const titles = await Promise.all(files.map(async (file) => titlesIn(file, await readFile(join(root, file), 'utf8'))));
  return titles.flat();
};
