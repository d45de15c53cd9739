import type { EventView } from '../api/views.js';
import { hanging } from '../output/wrap.js';

const SEQUENCE_WIDTH = 6;
const TYPE_WIDTH = 24;

/** An event as text, wrapped to the available columns. */
export const eventLine = ({ seq, time, type, actor, sentence }: EventView, columns: number): string => {
  const head = `${String(seq).padStart(SEQUENCE_WIDTH)}  ${time}  `;
  const line = `${head}${type.padEnd(TYPE_WIDTH)}  ${sentence}  (${actor})`;
  return line.length <= columns
    ? line
    : [`${head}${type}`, ...sentenceLines(`${sentence}  (${actor})`, columns)].join('\n');
};

const SENTENCE_INDENT = ' '.repeat(SEQUENCE_WIDTH + 2);

const sentenceLines = (sentence: string, columns: number): readonly string[] =>
  hanging(`${SENTENCE_INDENT}${sentence}`, columns, SENTENCE_INDENT.length);
