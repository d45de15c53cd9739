import { spawn, type ChildProcess } from 'node:child_process';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { EnvironmentFault } from '../faults.js';
import { signalGroup, signalProcess } from '../process/command.js';
import type { LogFile } from './log-file.js';
import type { Warden } from './warden.js';

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const POLL_MS = 15;
const PROBE_TIMEOUT_MS = 1_000;
const LAST_WORDS_TIMEOUT_MS = 250;
const TAIL_LINES = 80;
const LINE_LENGTH_MAX = 1_000;
/** A failure's message is bounded (4,000 characters); the quoted output must leave space for the sentence before it. */
const QUOTE_LENGTH_MAX = 3_000;
const QUOTE_LINES = 20;
const STACK_FRAME = /^\s+at /;

/**
 * A program to run, and how to detect that it is ready. Without any of the three `ready…`, it is ready as soon as it
 * runs.
 */
export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment of the process; absent: this process' own. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Ready at the first line (of either output) that this accepts. */
  readonly ready?: (line: string) => boolean;
  /** Ready when this URL returns 2xx. */
  readonly readyUrl?: string;
  /** Ready when this resolves to true; it is retried after false or an error. */
  readonly readyWhen?: () => Promise<boolean>;
  readonly readyTimeoutMs?: number;
  /**
   * A line for its standard input. The program waits for it, so the ready timeout starts then; the promise never
   * rejects.
   */
  readonly input?: Promise<string>;
  /**
   * What the program is waiting for according to a line (a server that is down); each such line restarts the ready
   * timeout.
   */
  readonly waitsFor?: (line: string) => string | undefined;
  /** The signal that stops it, SIGTERM by default; SIGKILL follows after the timeout. */
  readonly stopSignal?: NodeJS.Signals;
  readonly stopTimeoutMs?: number;
  /** Runs as another user (requires root). */
  readonly identity?: { readonly uid: number; readonly gid: number };
  /** An open folder that the process sees as descriptor 3. */
  readonly folderHandle?: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Set if it could not be started at all. */
  readonly error?: string;
}

/** One run of a program, in its own process group, so that a Ctrl-C in the terminal does not reach it. */
export class Child {
  readonly exited: Promise<Exit>;
  private readonly process: ChildProcess;
  private readonly tail: string[] = [];
  private lineListeners: ((line: string) => void)[] = [];
  private hasExited = false;

  constructor(
    private readonly spec: ProcessSpec,
    private readonly warden: Warden,
    private readonly log: LogFile,
  ) {
    this.process = spawn(spec.command, spec.args ?? [], {
      detached: true,
      // The first descriptor is a pipe that stays open: a child can detect our exit by the end of its input.
      stdio: ['pipe', 'pipe', 'pipe', ...(spec.folderHandle === undefined ? [] : [spec.folderHandle])],
      ...(spec.env === undefined ? {} : { env: spec.env }),
      ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
      ...spec.identity,
    });
    if (this.process.pid !== undefined) warden.watch(this.process.pid, spec.stopSignal ?? 'SIGTERM');
    this.exited = this.watchExit();
    this.process.stdin?.on('error', () => undefined); // The child closed its input, which is allowed.
    void spec.input?.then((line) => this.process.stdin?.write(`${line}\n`));
    for (const stream of [this.process.stdout, this.process.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.hear(line));
    }
  }

  get pid(): number | undefined {
    return this.process.pid;
  }

  get running(): boolean {
    return !this.hasExited;
  }

  /** Its last output lines, oldest first. */
  get lastLines(): readonly string[] {
    return this.tail;
  }

  /**
   * Resolves when it is ready; throws a fault with its last output if it exits before, or is not ready in time.
   * `onWaits` receives what it is waiting for.
   */
  async whenReady(onWaits: (waitsFor: string) => void = () => undefined): Promise<void> {
    await Promise.race([this.spec.input, this.exited]);
    const timeoutMs = this.spec.readyTimeoutMs ?? READY_TIMEOUT_MS;
    let deadlineMs = performance.now() + timeoutMs;
    const heard = this.listenForReady((waitsFor) => {
      deadlineMs = performance.now() + timeoutMs;
      onWaits(waitsFor);
    });
    const isReady = async (): Promise<boolean> =>
      this.hasExited || (this.pid !== undefined && heard() && (await this.answers()));
    while (!(await isReady())) {
      if (performance.now() >= deadlineMs) throw this.notReady(`was not ready within ${timeoutMs} ms`);
      await sleep(POLL_MS);
    }
    if (this.hasExited) throw this.notReady(`ended before it was ready (${describeExit(await this.exited)})`);
  }

  private notReady(why: string): EnvironmentFault {
    return new EnvironmentFault('not-ready', {
      operation: 'start',
      target: this.spec.name,
      message: `${this.spec.name} ${why}.${quoteLines(this.tail)}`,
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.hasExited && this.process.pid !== undefined) signalProcess(this.process.pid, signal);
  }

  /** Sends the stop signal, then SIGKILL after the timeout, and resolves when none of its processes is running. */
  async stop(): Promise<Exit> {
    if (this.process.pid !== undefined && !this.hasExited) {
      this.signal(this.spec.stopSignal ?? 'SIGTERM');
      const insist = setTimeout(() => this.signal('SIGKILL'), this.spec.stopTimeoutMs ?? STOP_TIMEOUT_MS);
      await this.exited;
      clearTimeout(insist);
    }
    return this.exited;
  }

  private listenForReady(onWaits: (waitsFor: string) => void): () => boolean {
    const { ready, waitsFor } = this.spec;
    let heard = ready === undefined || this.tail.some(ready);
    this.lineListeners.push((line) => {
      heard ||= ready?.(line) === true;
      const what = heard ? undefined : waitsFor?.(line);
      if (what !== undefined) onWaits(what);
    });
    return () => heard;
  }

  private async answers(): Promise<boolean> {
    const { readyUrl, readyWhen } = this.spec;
    try {
      if (readyUrl !== undefined) return await isOk(readyUrl);
      return readyWhen === undefined || (await readyWhen());
    } catch {
      return false; // Not yet: checked again until the deadline, whose error quotes the output of the process.
    }
  }

  private hear(line: string): void {
    this.log.write(`${line}\n`);
    this.tail.push(line.slice(0, LINE_LENGTH_MAX));
    if (this.tail.length > TAIL_LINES) this.tail.shift();
    for (const listener of this.lineListeners) listener(line);
  }

  /** Ended means: the process and its group are gone, and its last output has been read. */
  private watchExit(): Promise<Exit> {
    return new Promise((resolve) => {
      const end = (exit: Exit): void => {
        if (this.hasExited) return;
        this.hasExited = true;
        this.lineListeners = [];
        this.process.stdin?.destroy();
        resolve(exit);
      };
      this.process.once('error', (error) => end({ code: null, signal: null, error: error.message }));
      this.process.once('exit', (code, signal) => {
        if (this.process.pid !== undefined) {
          signalGroup(this.process.pid, 'SIGKILL'); // Children that it left behind.
          this.warden.forget(this.process.pid);
        }
        this.process.once('close', () => end({ code, signal }));
        // A process in another group may hold its output open; that is not waited for.
        setTimeout(() => end({ code, signal }), LAST_WORDS_TIMEOUT_MS).unref();
      });
    });
  }
}

/** Not by `fetch`, which would take 20 ms to load. */
const isOk = (url: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const asked = get(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS), agent: false }, (answer) => {
      const { statusCode = 0 } = answer;
      answer.destroy();
      resolve(statusCode >= 200 && statusCode < 300);
    });
    asked.once('error', reject);
  });

export const describeExit = ({ code, signal, error }: Exit): string =>
  error ?? (signal === null ? `exit code ${code ?? 'unknown'}` : `ended by ${signal}`);

/** Log lines as the end of a message: the last ones that are text. Stack frames are left to the log. */
export const quoteLines = (lines: readonly string[]): string => {
  const words = lines.filter((line) => line.trim() !== '' && !STACK_FRAME.test(line)).slice(-QUOTE_LINES);
  while (words.join('\n').length > QUOTE_LENGTH_MAX && words.length > 1) words.shift();
  return words.length === 0 ? '' : ` Its last words:\n  ${words.join('\n  ')}`;
};
