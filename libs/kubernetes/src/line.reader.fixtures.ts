import { LinesBeginning } from './line.reader.js';

/** The lines of a text as read from a response that arrives in chunks of `pieceBytes`. */
export const linesIn = (text: string, prefix: string, pieceBytes = 7): readonly string[] => {
  const bytes = Buffer.from(text);
  const reader = new LinesBeginning(prefix, bytes.length);
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.take(bytes.subarray(at, at + pieceBytes));
  return reader.end();
};
