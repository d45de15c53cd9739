import { HOST_OUTPUT_BYTES_MAX, type HostOrder, type HostReply, type HostStream } from '@fairlead/contracts';
import { spawn, type ChildProcess } from 'node:child_process';
import { access, chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Output of a command beyond this size is dropped. */
const OUTPUT_BYTES_MAX = 4 * 1_048_576;
/** How many finished runs are kept until their results are fetched. */
const RUNS_MAX = 64;
const PRIVATE = 0o600;

interface Run {
  readonly output: Record<HostStream, Buffer[]>;
  readonly child: ChildProcess;
  readonly timer: NodeJS.Timeout;
  bytes: number;
  late: boolean;
  ended: Extract<HostReply, { kind: 'ended' }> | undefined;
}

type Order<Kind extends HostOrder['kind']> = Extract<HostOrder, { kind: Kind }>;

const sizeOf = (chunks: readonly Buffer[]): number => chunks.reduce((sum, { length }) => sum + length, 0);

/**
 * Runs commands and writes files for services, like a root login. Orders may be redelivered but take effect once. A
 * command keeps running while the connection is away, and its result is kept.
 */
export class HostOrders {
  private readonly runs = new Map<string, Run>();

  constructor(
    /** Prefix of all absolute file paths; empty on a real host. */
    private readonly root: string,
    private readonly send: (reply: HostReply) => void,
  ) {}

  /** Never rejects: failures are part of the reply. */
  async carryOut(order: HostOrder): Promise<void> {
    try {
      const reply = await this.replyTo(order);
      if (reply !== undefined) this.send(reply);
    } catch (error) {
      const message = (error instanceof Error ? error.message : String(error)).slice(0, 1_000);
      this.send({ kind: 'failed', id: order.id, message });
    }
  }

  /** Kills all running commands. */
  stop(): void {
    for (const run of this.runs.values()) this.end(run);
  }

  private async replyTo(order: HostOrder): Promise<HostReply | undefined> {
    const { id } = order;
    switch (order.kind) {
      case 'ping':
        return { kind: 'alive', id };
      case 'run':
        return this.run(order);
      case 'ask':
        return this.stateOf(id);
      case 'read':
        return this.read(order);
      case 'kill': {
        const run = this.runs.get(id);
        if (run !== undefined) this.end(run);
        this.runs.delete(id);
        return { kind: 'unknown', id };
      }
      case 'exists':
        return { kind: 'exists', id, exists: await isThere(`${this.root}${order.path}`) };
      case 'write':
        return this.write(order);
    }
  }

  private stateOf(id: string): HostReply {
    const run = this.runs.get(id);
    if (run === undefined) return { kind: 'unknown', id };
    return run.ended ?? { kind: 'running', id };
  }

  private run({ id, command, stdin, limitMs }: Order<'run'>): HostReply {
    if (this.runs.has(id)) return this.stateOf(id);
    this.makeRoom();
    const child = spawn('/bin/sh', ['-c', command], { detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    const run: Run = {
      child,
      output: { stdout: [], stderr: [] },
      bytes: 0,
      late: false,
      ended: undefined,
      timer: setTimeout(() => {
        run.late = true;
        this.end(run);
      }, limitMs),
    };
    this.runs.set(id, run);
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].on('data', (chunk: Buffer) => {
        run.bytes += chunk.length;
        if (run.bytes > OUTPUT_BYTES_MAX) this.end(run);
        else run.output[stream].push(chunk);
      });
    child.stdin.on('error', () => undefined); // It ended without reading its whole input.
    child.stdin.end(stdin);
    child.once('error', () => this.ended(id, run, null, null));
    child.once('close', (code, signal) => this.ended(id, run, code, signal));
    return { kind: 'running', id };
  }

  private ended(id: string, run: Run, code: number | null, signal: string | null): void {
    if (run.ended !== undefined) return;
    clearTimeout(run.timer);
    const { stdout, stderr } = run.output;
    run.ended = { kind: 'ended', id, code, signal, late: run.late, stdout: sizeOf(stdout), stderr: sizeOf(stderr) };
    this.send(run.ended);
  }

  /** Kills the whole process group, like the end of a login. */
  private end({ child, ended }: Run): void {
    if (ended !== undefined || child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      child.kill('SIGKILL');
    }
  }

  private makeRoom(): void {
    for (const [id, { ended }] of this.runs) {
      if (this.runs.size < RUNS_MAX) return;
      if (ended !== undefined) this.runs.delete(id);
    }
    if (this.runs.size >= RUNS_MAX) throw new Error(`${RUNS_MAX} commands run on this host already`);
  }

  private read({ id, stream, at }: Order<'read'>): HostReply {
    const run = this.runs.get(id);
    if (run === undefined) return { kind: 'unknown', id };
    const whole = Buffer.concat(run.output[stream]);
    const data = whole.subarray(at, at + HOST_OUTPUT_BYTES_MAX).toString('base64');
    return { kind: 'output', id, stream, at, data };
  }

  /**
   * Writes at an offset, so that a repetition changes nothing. The sender moves and verifies the complete file with a
   * command.
   */
  private async write({ id, path, at, data }: Order<'write'>): Promise<HostReply> {
    const file = `${this.root}${path}`;
    await mkdir(dirname(file), { recursive: true });
    const bytes = Buffer.from(data, 'base64');
    const handle = await open(file, at === 0 ? 'w' : 'r+', PRIVATE);
    try {
      await handle.write(bytes, 0, bytes.length, at);
    } finally {
      await handle.close();
    }
    if (at === 0) await chmod(file, PRIVATE);
    return { kind: 'written', id, size: at + bytes.length };
  }
}

const isThere = async (path: string): Promise<boolean> => {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
};
