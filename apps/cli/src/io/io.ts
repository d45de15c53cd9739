import type { Colors } from 'picocolors/types.js';

/** A command's access to the terminal and the process; specs use their own. */
export interface Io {
  /** Writes to standard output: only the requested data. */
  readonly out: (text: string) => void;
  /** Writes to standard error: failures, progress and advice. Printed above an open region. */
  readonly err: (text: string) => void;
  /** Opens a region: lines at the end of standard error that are redrawn in place. Only if `isLive`; one at a time. */
  readonly openRegion: () => Region;
  readonly readStdin: () => Promise<string>;
  /** Asks on standard error and reads a line; undefined if there is no terminal. Rejects on an interrupt. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  /** Whether progress can be redrawn: standard error is a terminal outside CI. */
  readonly isLive: boolean;
  /** The width of standard output; infinite for a file or a pipe. COLUMNS overrides it. */
  readonly outColumns: () => number;
  /** The same for standard error. */
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
  /** Closes the region, and keeps its last lines. */
  close(): void;
}

/** Ctrl-C (or SIGTERM): the first one requests a shutdown, the second one a fast shutdown. */
export interface Interrupts {
  readonly first: AbortSignal;
  readonly second: AbortSignal;
}
