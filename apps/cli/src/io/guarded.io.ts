import { terminalText } from '../output/terminal.text.js';
import type { Io } from './io.js';

/** All output to standard output, standard error and regions is sanitized here. */
export const guardedIo = (io: Io): Io => {
  const shown = (text: string): string => terminalText(text, { withColours: io.colors.isColorSupported });
  const { ask } = io;
  return {
    ...io,
    out: (text) => io.out(shown(text)),
    err: (text) => io.err(shown(text)),
    openRegion: () => {
      const region = io.openRegion();
      return { draw: (lines) => region.draw(lines.map(shown)), close: () => region.close() };
    },
    ask: ask === undefined ? undefined : (question) => ask(shown(question)),
  };
};
