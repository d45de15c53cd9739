import type { Colors } from 'picocolors/types.js';
import { formatDuration } from '../output/duration.js';
import { shortened, wrapped } from '../output/wrap.js';
import type { Branch, Mark } from './tree.js';

export interface TextOptions {
  readonly columns: number;
  readonly colors: Colors;
}

const MARKS: Readonly<Record<Mark, string>> = { done: '✔', running: '●', waiting: '○', failed: '✘', trouble: '▲' };

/** The tree as lines; a line never exceeds `columns`, because a wrapped one could not be redrawn. */
export const linesOfTree = (root: Branch, options: TextOptions): readonly string[] => [
  lineOf(root, '', options),
  ...linesBelow(root.children, '', options),
];

const linesBelow = (branches: readonly Branch[], indent: string, options: TextOptions): readonly string[] =>
  branches.flatMap((branch, index) => {
    const isLast = index === branches.length - 1;
    const below = `${indent}${isLast ? '   ' : '│  '}`;
    const first = `${indent}${isLast ? '└─ ' : '├─ '}`;
    if (branch.wraps === true) return wrappedLines(branch, { first, below }, options);
    return [lineOf(branch, first, options), ...linesBelow(branch.children, below, options)];
  });

const WRAPPED_LINES_MAX = 5;

const wrappedLines = (
  branch: Branch,
  { first, below }: { readonly first: string; readonly below: string },
  options: TextOptions,
): readonly string[] => {
  const room = Math.max(1, options.columns - first.length - MARKS[branch.mark].length - 1);
  const [label = '', ...more] = wrapped(oneLine(branch.label), room, WRAPPED_LINES_MAX);
  return [
    lineOf({ ...branch, label }, first, options),
    ...more.map(
      (line) => `${options.colors.dim(below)}  ${branch.mark === 'waiting' ? options.colors.dim(line) : line}`,
    ),
  ];
};

const lineOf = (
  { mark, label, detail, durationMs }: Branch,
  prefix: string,
  { columns, colors }: TextOptions,
): string => {
  const duration = durationMs === undefined ? '' : formatDuration(durationMs);
  const room = Math.max(
    1,
    columns - prefix.length - MARKS[mark].length - 1 - (duration === '' ? 0 : duration.length + 2),
  );
  const shownLabel = shortened(oneLine(label), room);
  const rest = room - shownLabel.length - 2;
  const shownDetail = detail === undefined || rest < DETAIL_LENGTH_MIN ? '' : shortened(oneLine(detail), rest);
  return [
    colors.dim(prefix),
    paint(mark, colors)(MARKS[mark]),
    ' ',
    mark === 'waiting' ? colors.dim(shownLabel) : shownLabel,
    shownDetail === '' ? '' : `  ${colors.dim(shownDetail)}`,
    duration === '' ? '' : `  ${colors.dim(duration)}`,
  ].join('');
};

const DETAIL_LENGTH_MIN = 6;

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const paint = (mark: Mark, colors: Colors): ((text: string) => string) => {
  switch (mark) {
    case 'done':
      return colors.green;
    case 'running':
      return colors.cyan;
    case 'waiting':
      return colors.dim;
    case 'failed':
      return colors.red;
    case 'trouble':
      return colors.yellow;
  }
};
