import { WORST_LINES, type WorstText } from '@fairlead/testing/worst.texts';
import ts from 'typescript';

/** A regular expression of a source, with where it stands. */
export interface Expression {
  readonly at: string;
  readonly expression: RegExp;
}

/** `/a/u` as it is written. */
const expressionOf = (literal: string): RegExp => {
  const end = literal.lastIndexOf('/');
  const flags = literal.slice(end + 1).replace('g', '');
  return new RegExp(literal.slice(1, end), `${flags}g`);
};

/** Every literal; those that are built are in the list of places. */
export const expressionsIn = (file: string, text: string): readonly Expression[] => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false);
  const found: Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      found.push({ at: `${file}:${line + 1} ${node.text}`, expression: expressionOf(node.text) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
};

/** What the expression begins to match, again and again: `<title>` of `/<title>([^<]+)</`. */
const ownBeginnings = ({ source }: RegExp): readonly WorstText[] => {
  const words = source.replaceAll(/\\([^\w])/g, '$1').match(/[^\\[\](){}.*+?|^$]{2,}/g) ?? [];
  return [...new Set([words[0], words.join(''), words.join(' ')])]
    .filter((word): word is string => word !== undefined && word !== '')
    .map((word) => (length) => word.repeat(Math.ceil(length / word.length)).slice(0, length));
};

/** Texts for an expression that match all of it, a part or nothing. */
export const textsFor = (expression: RegExp, length: number): readonly string[] =>
  [...Object.values(WORST_LINES), ...ownBeginnings(expression)].map((textOf) => textOf(length));
