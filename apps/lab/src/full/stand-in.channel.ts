import { errorCodeOf } from '@fairlead/contracts';
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, unlinkSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ALWAYS_PRESENT, programsOf } from '../programs/registry.js';
import type { CommandRunner } from '../programs/run.command.js';
import type { Host } from '../hosts/host.js';
import { STAND_IN_FOLDER } from './shell.environment.js';
import { SUDO_SCRIPT, SYSTEMD_RUN_SCRIPT, standInScript } from './stand-in.script.js';

const LAB_FOLDER = 'usr/lib/lab';
const CALLS_FOLDER = 'usr/lib/lab/calls';
const EXECUTABLE = 0o755;
/** A call ID consists of the process ID and the command's name. */
const CALL_ID = /^\d+\.[A-Za-z0-9._-]+$/;

/**
 * Connects the stand-ins of one host to the lab: reads the host's request FIFO and answers each call in its own FIFO.
 */
export class StandInChannel {
  private requests: Socket | undefined;
  private pendingText = '';

  constructor(
    private readonly host: Host,
    private readonly root: string,
    private readonly runner: CommandRunner,
    private readonly nodeBinary: string,
  ) {}

  /** Installs the stand-ins and starts listening. Discards calls that an earlier lab left behind. */
  async open(): Promise<void> {
    await rm(this.path(CALLS_FOLDER), { recursive: true, force: true });
    await mkdir(this.path(CALLS_FOLDER), { recursive: true, mode: 0o700 });
    await mkdir(this.path(STAND_IN_FOLDER), { recursive: true });
    await this.install(this.path(LAB_FOLDER, 'call'), standInScript(this.path(CALLS_FOLDER)));
    await this.install(this.path(STAND_IN_FOLDER, 'sudo'), SUDO_SCRIPT);
    await this.install(this.path(STAND_IN_FOLDER, 'systemd-run'), SYSTEMD_RUN_SCRIPT);
    await this.link(this.path(STAND_IN_FOLDER, 'node'), this.nodeBinary);
    await mkdir(this.path('usr/bin'), { recursive: true });
    await this.link(this.path('usr/bin/node'), this.nodeBinary);
    await this.linkPrograms();
    const fifo = this.path(CALLS_FOLDER, 'requests');
    await promisify(execFile)('mkfifo', ['-m', '600', fifo]);
    this.requests = readableFifo(fifo);
    this.requests.setEncoding('utf8').on('data', (text: string) => this.received(text));
  }

  close(): void {
    this.requests?.destroy();
    this.requests = undefined;
  }

  /** Links exactly the programs of the installed packages. */
  async linkPrograms(): Promise<void> {
    const own = ['sudo', 'systemd-run', 'node'];
    const programs = [...ALWAYS_PRESENT, ...programsOf(this.host.record.packages)];
    const desired = new Set(programs.filter((name) => !own.includes(name)));
    const present = (await readdir(this.path(STAND_IN_FOLDER))).filter((name) => !own.includes(name));
    for (const name of present.filter((name) => !desired.has(name))) await unlink(this.path(STAND_IN_FOLDER, name));
    for (const name of desired) {
      if (!present.includes(name)) await symlink('../call', this.path(STAND_IN_FOLDER, name));
    }
  }

  private received(text: string): void {
    const lines = (this.pendingText + text).split('\n');
    this.pendingText = lines.pop() ?? '';
    for (const id of lines) {
      if (CALL_ID.test(id))
        void this.answer(id).catch((error: unknown) => this.host.log(`stand-in ${id}: ${String(error)}`));
    }
  }

  private async answer(id: string): Promise<void> {
    const fifo = this.path(CALLS_FOLDER, id);
    // Read synchronously: these are a few bytes that were just written, and an asynchronous read would wake two
    // threads.
    const [name = '', directory = '/', ...args] = readFileSync(`${fifo}.words`, 'utf8').split('\0').slice(0, -1);
    const reply = writableFifo(fifo);
    for (const file of [fifo, `${fifo}.words`]) unlinkSync(file);
    if (reply === undefined) return; // The caller was killed before it opened its end.
    const caller = new AbortController();
    reply.on('error', () => caller.abort()).on('close', () => caller.abort());
    const exitCode = await this.run({ name, args, cwd: this.inside(directory) }, reply, caller.signal);
    reply.end(`x${exitCode}\n`);
  }

  private async run(
    request: { name: string; args: readonly string[]; cwd: string },
    reply: Socket,
    signal: AbortSignal,
  ): Promise<number> {
    const say = (prefix: 'o' | 'e') => (text: string) => {
      if (!reply.destroyed)
        reply.write(
          text
            .split('\n')
            .map((line) => `${prefix}${line}\n`)
            .join(''),
        );
    };
    try {
      return await this.runner.run(this.host, request, { out: say('o'), err: say('e'), signal });
    } catch (error) {
      this.host.log(
        `stand-in ${request.name} broke: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
      say('e')(`Fairlead lab: ${request.name} broke: ${String(error)}`);
      return 125;
    }
  }

  private inside(directory: string): string {
    return directory.startsWith(this.root) ? directory.slice(this.root.length) || '/' : directory;
  }

  private path(...parts: readonly string[]): string {
    return join(this.root, ...parts);
  }

  private async install(path: string, text: string): Promise<void> {
    await writeFile(path, text);
    await chmod(path, EXECUTABLE);
  }

  private async link(path: string, target: string): Promise<void> {
    await rm(path, { force: true });
    await symlink(target, path);
  }
}

/** Opened for writing too, so that it stays open while there is no other writer. */
const readableFifo = (path: string): Socket =>
  new Socket({ fd: openSync(path, constants.O_RDWR | constants.O_NONBLOCK), readable: true, writable: false });

/** Returns undefined if the FIFO no longer has a reader. */
const writableFifo = (path: string): Socket | undefined => {
  try {
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    try {
      return new Socket({ fd, readable: false, writable: true });
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  } catch (error) {
    if (['ENXIO', 'ENOENT'].includes(errorCodeOf(error) ?? '')) return undefined;
    throw error;
  }
};
