import type { Consequence, Trace } from './trace.js';

type Entry = Trace['event'];

/** The maximum number of consequences that are printed as text. */
export const FOLLOWED_MAX = 200;

const lineOf = ({ seq, time, type, actor, sentence }: Entry): string =>
  `${seq}  ${type}  ${sentence}  (${actor}, ${time})`;

/** The causes as a list, first cause first; then the event, and its consequences as a tree. */
export const traceText = ({ causes, event, led }: Trace): string => {
  const followed = linesBelow(led, '  ');
  const left = followed.length - FOLLOWED_MAX;
  return [
    ...section(
      'CAUSES',
      causes.map((cause) => `  ${lineOf(cause)}`),
    ),
    ...section('EVENT', [`  ${lineOf(event)}`]),
    ...section('CONSEQUENCES', [
      ...followed.slice(0, FOLLOWED_MAX),
      ...(left > 0 ? [`  ... and ${left} more; --output json has all of them`] : []),
    ]),
  ].join('\n');
};

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [title, '  none'] : [title, ...lines];

const linesBelow = (consequences: readonly Consequence[], indent: string): readonly string[] =>
  consequences.flatMap(({ entry, led }, index) => {
    const isLast = index === consequences.length - 1;
    return [
      `${indent}${isLast ? '└─ ' : '├─ '}${lineOf(entry)}`,
      ...linesBelow(led, `${indent}${isLast ? '   ' : '│  '}`),
    ];
  });
