import { spawn, type ChildProcess } from 'node:child_process';
import {
  closeSync,
  existsSync,
  ftruncateSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  appendFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expandArguments } from '../services/service.manager.js';
import type { UnitEnd, UnitProcess, UnitProgram, UnitRunner } from '../services/unit.runner.js';
import { signalGroup } from './processes.js';

const STOP_GRACE_MS = 5_000;
/** A journal larger than this is truncated when its unit starts. */
const JOURNAL_SIZE_MAX = 8 * 1024 * 1024;

/** Starts a unit's program as a real process in its own process group, and writes its output to a file of the host. */
export class ProcessUnits implements UnitRunner {
  constructor(
    private readonly root: string,
    private readonly environment: Readonly<Record<string, string>>,
    private readonly nodeBinary: string,
  ) {}

  start(program: UnitProgram): UnitProcess {
    const environment = { ...this.environment, ...program.environment };
    const [command = '', ...args] = expandArguments(program.argv, environment);
    const log = this.openJournal(program.unit);
    try {
      const child = spawn(
        this.resolveProgram(command),
        args.map((word) => this.resolvePath(word)),
        {
          cwd: program.workingDirectory === undefined ? this.root : this.resolvePath(program.workingDirectory),
          env: environment,
          detached: true,
          stdio: ['ignore', log, log],
        },
      );
      return new ChildUnit(child);
    } finally {
      closeSync(log);
    }
  }

  async journal(unit: string, linesMax: number): Promise<readonly string[]> {
    const file = this.journalFile(unit);
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-linesMax);
  }

  /** Counts from zero after the journal was truncated. */
  async written(unit: string): Promise<number> {
    const file = this.journalFile(unit);
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
  }

  note(unit: string, line: string): void {
    mkdirSync(dirname(this.journalFile(unit)), { recursive: true });
    appendFileSync(this.journalFile(unit), `${new Date().toISOString()} systemd[1]: ${line}\n`);
  }

  private openJournal(unit: string): number {
    mkdirSync(dirname(this.journalFile(unit)), { recursive: true });
    const descriptor = openSync(this.journalFile(unit), 'a');
    if (fstatSync(descriptor).size > JOURNAL_SIZE_MAX) ftruncateSync(descriptor);
    return descriptor;
  }

  private journalFile(unit: string): string {
    return join(this.root, 'var/log/journal', `${basename(unit)}.log`);
  }

  /** Resolves a program of the host, or `node`, which every simulated host has. */
  private resolveProgram(command: string): string {
    if (basename(command) === 'node') return this.nodeBinary;
    return this.resolvePath(command);
  }

  /** Maps an absolute path that exists on the host; any other word is returned unchanged. */
  private resolvePath(word: string): string {
    if (!word.startsWith('/') || word.startsWith(this.root)) return word;
    const inside = join(this.root, word);
    return existsSync(inside) ? inside : word;
  }
}

class ChildUnit implements UnitProcess {
  readonly ended: Promise<UnitEnd>;
  readonly pid: number;

  constructor(private readonly child: ChildProcess) {
    this.pid = child.pid ?? 0;
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => resolve({ success: false, words: error.message }));
      child.once('exit', (code, signal) =>
        resolve({ success: code === 0, words: signal === null ? `exit code ${code}` : `signal ${signal}` }),
      );
    });
  }

  async stop(): Promise<void> {
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), STOP_GRACE_MS);
    await this.ended;
    clearTimeout(timer);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.pid > 0 && this.child.exitCode === null && this.child.signalCode === null) signalGroup(this.pid, signal);
  }
}
