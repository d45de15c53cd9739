import { createLogUpdate } from 'log-update';
import { createInterface } from 'node:readline/promises';
import { addAbortSignal } from 'node:stream';
import pc from 'picocolors';
import type { Interrupts, Io, Region } from './io.js';

/** For a terminal with unknown size. */
const COLUMNS_UNKNOWN = 80;
const ROWS_WITHOUT_TERMINAL = 40;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** The third Ctrl-C ends this process unconditionally; the wardens of its child processes end them. */
const PATIENCE = 2;
const INTERRUPTED = 130;

/** The real terminal and process. */
export const processIo = (): Io => {
  const { stdout, stderr, stdin, env } = process;
  for (const stream of [stdout, stderr]) stream.on('error', endWhenReaderIsGone);
  const interrupts = interruptsOf();
  return {
    out: (text) => void stdout.write(text),
    ...standardError(stderr),
    readStdin: async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of addAbortSignal(interrupts.first, stdin)) chunks.push(Buffer.from(chunk as Uint8Array));
      return Buffer.concat(chunks).toString('utf8');
    },
    ask: stdin.isTTY === true && stderr.isTTY === true ? asking(interrupts.first) : undefined,
    isLive: stderr.isTTY === true && !env['CI'] && env['TERM'] !== 'dumb',
    outColumns: () => columnsOf(stdout, env),
    errColumns: () => columnsOf(stderr, env),
    rows: () => stderr.rows ?? ROWS_WITHOUT_TERMINAL,
    colors: pc.createColors(
      stderr.isTTY === true && stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    ),
    env,
    cwd: process.cwd(),
    now: Date.now,
    interrupts,
  };
};

/** A program that reads a pipe receives whole lines, unless COLUMNS is set, as for ps and ls. */
export const columnsOf = (
  { isTTY, columns }: { readonly isTTY?: boolean; readonly columns?: number },
  env: Io['env'],
): number => {
  const asked = Number(env['COLUMNS']);
  if (Number.isInteger(asked) && asked > 0) return asked;
  return isTTY === true ? columns || COLUMNS_UNKNOWN : Number.POSITIVE_INFINITY;
};

interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/**
 * A terminal that ends (Ctrl-D) gives an empty answer. Otherwise the promise would stay pending, and the process would
 * exit successfully.
 */
export const asking =
  (interrupted: AbortSignal, terminal: Terminal = { input: process.stdin, output: process.stderr }) =>
  async (question: string): Promise<string> => {
    const lines = createInterface(terminal);
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    // The terminal is in raw mode while a line is read: Ctrl-C is a key, not a signal.
    lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    try {
      return await Promise.race([lines.question(question, { signal: interrupted }), ended]);
    } finally {
      lines.close();
    }
  };

/**
 * Text that is written while a region is open is printed above it, such as a crash notice above the progress of a
 * cluster.
 */
const standardError = (stderr: NodeJS.WriteStream): Pick<Io, 'err' | 'openRegion'> => {
  let region: { readonly update: ReturnType<typeof createLogUpdate>; text: string } | undefined;
  return {
    err: (text) => {
      region?.update.clear();
      stderr.write(text);
      region?.update(region.text);
    },
    openRegion: (): Region => {
      const opened = { update: createLogUpdate(stderr), text: '', columns: 0 };
      region = opened;
      return {
        draw: (lines) => {
          const text = lines.join('\n');
          if (text === opened.text && stderr.columns === opened.columns) return; // Each update hides the cursor again.
          opened.text = text;
          opened.columns = stderr.columns;
          opened.update(text);
        },
        close: () => {
          opened.update.done();
          region = undefined;
        },
      };
    },
  };
};

/** `fairlead events demo | head`: the reader of the pipe has closed it. */
const endWhenReaderIsGone = (error: NodeJS.ErrnoException): void => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
};

const interruptsOf = (): Interrupts => {
  const [first, second] = [new AbortController(), new AbortController()];
  let count = 0;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      count += 1;
      if (count === 1) first.abort();
      else if (count === PATIENCE) second.abort();
      else process.exit(INTERRUPTED);
    });
  }
  return { first: first.signal, second: second.signal };
};
