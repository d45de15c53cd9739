/** Wraps a text at `columns`, between words where possible, and truncates it after `linesMax` lines. */
export const wrapped = (text: string, columns: number, linesMax = Number.POSITIVE_INFINITY): readonly string[] => {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > columns && lines.length < linesMax - 1) {
    const space = rest.lastIndexOf(' ', columns);
    const end = space > 0 ? space : columns;
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return [...lines, shortened(rest, columns)];
};

/** Truncates a text with an ellipsis. */
export const shortened = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;

/** The prefix of a line: its indentation, and the branches of a tree. */
const BEFORE_TEXT = /^[ │├└─✔●○✘▲]*/u;
const FURTHER = 2;

/** Wraps each line between words; continuation lines are indented further than the first one. */
export const wrappedLines = (lines: readonly string[], columns: number): readonly string[] =>
  lines.flatMap((line) => {
    const { length: indent } = BEFORE_TEXT.exec(line)?.[0] ?? '';
    return line.length <= columns ? [line] : hanging(line, columns, indent, FURTHER);
  });

const COLUMNS_MIN = 16;

/** Wraps a line; continuation lines start at the column of its text, plus `further`. */
export const hanging = (line: string, columns: number, indent: number, further = 0): readonly string[] => {
  if (line.length <= columns) return [line];
  const [first = '', ...more] = wrapped(line.slice(indent), Math.max(COLUMNS_MIN, columns - indent - further));
  return [`${line.slice(0, indent)}${first}`, ...more.map((part) => `${' '.repeat(indent + further)}${part}`)];
};
