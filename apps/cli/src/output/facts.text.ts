import { hanging } from './wrap.js';

/** A property of an object: one line in its description. */
export type Fact = readonly [title: string, value: string];

const GAP = 2;
const INDENT = '  ';

/** Indented lines with aligned values; long values are wrapped. */
export const factLines = (facts: readonly Fact[], columns: number): readonly string[] => {
  const width = Math.max(0, ...facts.map(([title]) => title.length)) + GAP;
  return facts.flatMap(([title, value]) =>
    hanging(`${INDENT}${title.padEnd(width)}${value}`.trimEnd(), columns, INDENT.length + width),
  );
};

/** Several values in one line, or `none` if the list is empty. */
export const listed = (values: readonly string[], none: string): string =>
  values.length === 0 ? none : values.join(', ');
