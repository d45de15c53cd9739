/** The text in lines of at most so many characters, broken between words where there are any; what is more than `linesMax` lines is cut. */
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

/** The beginning, and an ellipsis for the rest. */
export const shortened = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;

/** What stands before the text of a line: its indentation, and the branches of a tree. */
const BEFORE_TEXT = /^[ │├└─✔●○✘▲]*/u;
const FURTHER = 2;

/** Lines of text, each wrapped between words; what is wrapped is indented a little more than its first line. */
export const wrappedLines = (lines: readonly string[], columns: number): readonly string[] =>
  lines.flatMap((line) => {
    const { length: indent } = BEFORE_TEXT.exec(line)?.[0] ?? '';
    return line.length <= columns ? [line] : hanging(line, columns, indent, FURTHER);
  });

const COLUMNS_MIN = 16;

/** A line of at most so many characters, and below it what is left: under the column in which its text begins, and `further` to the right. */
export const hanging = (line: string, columns: number, indent: number, further = 0): readonly string[] => {
  if (line.length <= columns) return [line];
  const [first = '', ...more] = wrapped(line.slice(indent), Math.max(COLUMNS_MIN, columns - indent - further));
  return [`${line.slice(0, indent)}${first}`, ...more.map((part) => `${' '.repeat(indent + further)}${part}`)];
};
