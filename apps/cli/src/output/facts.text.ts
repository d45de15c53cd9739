import { hanging } from './wrap.js';

/** A name and its value: one line of what describes an object. */
export type Fact = readonly [title: string, value: string];

const GAP = 2;
const INDENT = '  ';

/** Facts as indented lines whose values begin in one column; longer ones go on below. */
export const factLines = (facts: readonly Fact[], columns: number): readonly string[] => {
  const width = Math.max(0, ...facts.map(([title]) => title.length)) + GAP;
  return facts.flatMap(([title, value]) =>
    hanging(`${INDENT}${title.padEnd(width)}${value}`.trimEnd(), columns, INDENT.length + width),
  );
};

/** Several values in one line, or the word for none. */
export const listed = (values: readonly string[], none: string): string =>
  values.length === 0 ? none : values.join(', ');
