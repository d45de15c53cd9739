import { ExternalFailure } from '@fairlead/contracts';
import { lastWordsOf, runCommand } from '@fairlead/embedded/process';

const TIMEOUT_MS = 20_000;

export interface Run {
  /** Its purpose: the operation of a failure. */
  readonly operation: string;
  readonly target: string;
  readonly timeoutMs?: number;
}

/**
 * Runs a program of this machine and resolves to its output. Rejects with a ExternalFailure with the program's error
 * output.
 */
export const run = async (at: Run, command: string, args: readonly string[]): Promise<string> => {
  const result = await runCommand(command, args, {
    timeoutMs: at.timeoutMs ?? TIMEOUT_MS,
    env: { ...process.env, LC_ALL: 'C' },
  });
  if (result.code === 0) return result.stdout;
  throw new ExternalFailure({
    operation: at.operation,
    target: at.target,
    message: `${command} ${args.join(' ')}: ${lastWordsOf(result)}`,
  });
};
