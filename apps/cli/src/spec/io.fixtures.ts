import pc from 'picocolors';
import { runCli } from '../cli.js';
import type { Io } from '../io/io.js';

/** A terminal of our own: what is written can be read, and Ctrl-C can be pressed. */
export interface FakeIo extends Io {
  stdout(): string;
  stderr(): string;
  /** Everything that was drawn in regions, one after the other. */
  drawn(): readonly string[];
  pressCtrlC(): void;
}

interface Given {
  readonly env?: Io['env'];
  readonly cwd?: string;
  readonly stdin?: string;
  readonly nowMs?: number;
  readonly isLive?: boolean;
  /** Of the terminal; undefined: 100 where it is live, and no limit elsewhere. */
  readonly columns?: number;
  /** What a user answers to every question; undefined: there is no user. */
  readonly answer?: string;
}

export const fakeIo = ({
  env = {},
  cwd = '/nowhere',
  stdin = '',
  nowMs = Date.parse('2026-11-21T09:00:00.000Z'),
  isLive = false,
  columns,
  answer,
}: Given = {}): FakeIo => {
  const [first, second] = [new AbortController(), new AbortController()];
  const written = { out: '', err: '' };
  const drawn: string[] = [];
  return {
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    stdout: () => written.out,
    stderr: () => written.err,
    readStdin: () => Promise.resolve(stdin),
    ask:
      answer === undefined
        ? undefined
        : (question) => {
            written.err += `${question}\n`;
            return Promise.resolve(answer);
          },
    isLive,
    drawn: () => drawn,
    openRegion: () => ({ draw: (lines) => void drawn.push(lines.join('\n')), close: () => undefined }),
    outColumns: () => columns ?? (isLive ? 100 : Number.POSITIVE_INFINITY),
    errColumns: () => columns ?? (isLive ? 100 : Number.POSITIVE_INFINITY),
    rows: () => 40,
    colors: pc.createColors(false),
    env,
    cwd,
    now: () => nowMs,
    interrupts: { first: first.signal, second: second.signal },
    pressCtrlC: () => (first.signal.aborted ? second : first).abort(),
  };
};

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line to its end. */
export const run = async (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> => {
  const code = await runCli(args, io);
  return { code, stdout: io.stdout(), stderr: io.stderr() };
};
