import type { EventView } from '../api/api.ports.js';

const SEQUENCE_WIDTH = 6;
const TYPE_WIDTH = 24;

/** An event as one line of text. */
export const eventLine = ({ seq, time, type, actor, sentence }: EventView): string =>
  `${String(seq).padStart(SEQUENCE_WIDTH)}  ${time}  ${type.padEnd(TYPE_WIDTH)}  ${sentence}  (${actor})`;
