/** A name and its value: one line of what describes an object. */
export type Fact = readonly [title: string, value: string];

const GAP = 2;

/** Facts as indented lines whose values begin in one column. */
export const factLines = (facts: readonly Fact[]): readonly string[] => {
  const width = Math.max(0, ...facts.map(([title]) => title.length)) + GAP;
  return facts.map(([title, value]) => `  ${title.padEnd(width)}${value}`.trimEnd());
};

/** Several values in one line, or the word for none. */
export const listed = (values: readonly string[], none: string): string =>
  values.length === 0 ? none : values.join(', ');
