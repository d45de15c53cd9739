import type { Colors } from 'picocolors/types.js';

/** Everything a command meets of the terminal and the process around it; specs bring their own. */
export interface Io {
  /** Writes to standard output: what was asked for, and nothing else. */
  readonly out: (text: string) => void;
  /** Writes to standard error: failures, progress and advice. It goes above an open region. */
  readonly err: (text: string) => void;
  /** Lines at the end of standard error that are drawn again in place. Only where `isLive`; one at a time. */
  readonly openRegion: () => Region;
  readonly readStdin: () => Promise<string>;
  /** Asks on standard error and reads a line; undefined: there is no terminal to ask on. An interrupt rejects it. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  /** Progress may be redrawn: standard error is a terminal, and nothing says that this is CI. */
  readonly isLive: boolean;
  /** Room in a line of standard output; infinite in a file or a pipe. COLUMNS decides wherever it is set. */
  readonly outColumns: () => number;
  /** The same of standard error. */
  readonly errColumns: () => number;
  readonly rows: () => number;
  readonly colors: Colors;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly interrupts: Interrupts;
}

export interface Region {
  draw(lines: readonly string[]): void;
  /** Leaves the last lines where they are. */
  close(): void;
}

/** Ctrl-C (or SIGTERM): the first asks for an end, the second for a fast one. */
export interface Interrupts {
  readonly first: AbortSignal;
  readonly second: AbortSignal;
}
