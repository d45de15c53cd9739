import type { Consequence, Trace } from './trace.js';

type Entry = Trace['event'];

/** So many of the events that followed are printed as text. */
export const FOLLOWED_MAX = 200;

const lineOf = ({ seq, time, type, actor, sentence }: Entry): string =>
  `${seq}  ${type}  ${sentence}  (${actor}, ${time})`;

const MORE = '   ';

/** A tree: the first cause on top, each event below what caused it, and `<-` at the event that was asked for. */
export const traceText = ({ causes, event, led }: Trace): string => {
  const indentOf = (depth: number): string => (depth === 0 ? '' : `${MORE.repeat(depth - 1)}└─ `);
  const above = causes.map((cause, depth) => `${indentOf(depth)}${lineOf(cause)}`);
  const followed = linesBelow(led, MORE.repeat(causes.length));
  const left = followed.length - FOLLOWED_MAX;
  return [
    ...above,
    `${indentOf(causes.length)}${lineOf(event)}  <-`,
    ...followed.slice(0, FOLLOWED_MAX),
    ...(left > 0 ? [`... and ${left} more that followed; --output json has all of them`] : []),
  ].join('\n');
};

const linesBelow = (consequences: readonly Consequence[], indent: string): readonly string[] =>
  consequences.flatMap(({ entry, led }, index) => {
    const isLast = index === consequences.length - 1;
    return [
      `${indent}${isLast ? '└─ ' : '├─ '}${lineOf(entry)}`,
      ...linesBelow(led, `${indent}${isLast ? MORE : '│  '}`),
    ];
  });
