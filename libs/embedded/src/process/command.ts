import { errorCodeOf } from '@fairlead/contracts';
import { spawn, type SpawnOptions } from 'node:child_process';

const OUTPUT_LENGTH_MAX = 64 * 1024;

export interface CommandOptions {
  readonly timeoutMs: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly identity?: { readonly uid: number; readonly gid: number };
  /** An open folder that the command sees as descriptor 3. */
  readonly folderHandle?: number;
}

export interface CommandResult {
  /** Null if the command was ended by a signal, or could not be started. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** Runs a short command for at most `timeoutMs`; then it and its children are killed. Never throws: see the result. */
export const runCommand = (command: string, args: readonly string[], options: CommandOptions): Promise<CommandResult> =>
  new Promise((resolve) => {
    const child = spawn(command, args, spawnOptions(options));
    const output = { stdout: '', stderr: '' };
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
    }, options.timeoutMs);
    const finish = (code: number | null): void => {
      clearTimeout(timer);
      resolve({ code, ...output, timedOut });
    };

    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output.stdout = (output.stdout + text).slice(-OUTPUT_LENGTH_MAX);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output.stderr = (output.stderr + text).slice(-OUTPUT_LENGTH_MAX);
    });
    child.on('error', (error) => {
      output.stderr += error.message;
      finish(null);
    });
    child.on('close', (code) => finish(code));
  });

const spawnOptions = ({ env, cwd, identity, folderHandle }: CommandOptions): SpawnOptions => ({
  stdio: ['ignore', 'pipe', 'pipe', ...(folderHandle === undefined ? [] : [folderHandle])],
  detached: true,
  ...(env === undefined ? {} : { env }),
  ...(cwd === undefined ? {} : { cwd }),
  ...identity,
});

/** Sends a signal to a process group; a missing group is ignored. */
export const signalGroup = (groupId: number, signal: NodeJS.Signals): void => signalOrGone(-groupId, signal);

/** Sends a signal to one process; a missing process is ignored. */
export const signalProcess = (pid: number, signal: NodeJS.Signals): void => signalOrGone(pid, signal);

const signalOrGone = (target: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(target, signal);
  } catch (error) {
    if (errorCodeOf(error) !== 'ESRCH') throw error;
  }
};

/** The last output of a failed command, as one line for an error message. */
export const lastWordsOf = ({ stdout, stderr, code, timedOut }: CommandResult): string => {
  const words = (stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' ').trim();
  if (timedOut) return `took too long and was stopped${words ? ` (${words})` : ''}`;
  return words || `ended with ${code ?? 'a signal'}`;
};
