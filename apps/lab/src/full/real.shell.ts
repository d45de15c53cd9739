import { spawn, type ChildProcess } from 'node:child_process';
import type { Stats } from '../stats/stats.js';
import type { HostShell, RunningCall, ShellCall, ShellExit } from '../ssh/host.shell.js';
import { CALL_VARIABLE, signalGroup, signalProcessesWith } from './processes.js';

const NOT_STARTED_EXIT_CODE = 127;

/** Runs each command in a real `/bin/sh` with the host's environment, in its own process group. */
export class RealShell implements HostShell {
  private readonly running = new Map<string, ChildProcess>();
  private calls = 0;

  constructor(
    private readonly machine: string,
    private readonly environment: Readonly<Record<string, string>>,
    private readonly stats: Stats,
  ) {}

  run(call: ShellCall): RunningCall {
    this.calls += 1;
    const mark = `${this.machine}/${process.pid}/${this.calls}`;
    const child = spawn('/bin/sh', ['-c', call.command], {
      cwd: this.environment['HOME'],
      env: { ...call.environment, ...this.environment, [CALL_VARIABLE]: mark },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.running.set(mark, child);
    // The command may exit before it has read all of its input.
    child.stdin.on('error', () => call.stdin.unpipe(child.stdin));
    call.stdin.pipe(child.stdin);
    child.stdout.pipe(call.stdout, { end: false });
    child.stderr.pipe(call.stderr, { end: false });
    return { ended: this.endOf(mark, child, call), signal: (signal) => this.signal(mark, child, signal) };
  }

  killAll(): void {
    for (const [mark, child] of this.running) this.signal(mark, child, 'SIGKILL');
  }

  private async endOf(mark: string, child: ChildProcess, call: ShellCall): Promise<ShellExit> {
    const exit = await new Promise<ShellExit>((resolve) => {
      child.once('error', (error) => {
        call.stderr.write(`${error.message}\n`);
        resolve({ code: NOT_STARTED_EXIT_CODE, signal: null });
      });
      child.once('close', (code, signal) => resolve({ code, signal }));
    });
    this.running.delete(mark);
    this.stats.commandRan({ machine: this.machine, command: call.command, exit: exit.code });
    return exit;
  }

  /** Signals the command's group, and processes of the call that left the group. */
  private signal(mark: string, child: ChildProcess, signal: NodeJS.Signals): void {
    if (child.pid !== undefined) signalGroup(child.pid, signal);
    signalProcessesWith(CALL_VARIABLE, mark, signal);
  }
}
