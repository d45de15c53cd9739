import { ExternalFailure } from '@fairlead/contracts';
import type { Difference } from '../node/difference.js';
import type { CommandResult, HostPort } from '../node/host.ports.js';

/** Something on the host that has a desired state. */
export interface Item {
  readonly name: string;
  /** The differences from the desired state. Changes nothing. */
  inspect(): Promise<readonly Difference[]>;
  /** Resolves the differences, and touches nothing else. May be called again after a crash at any point. */
  ensure(differences: readonly Difference[]): Promise<void>;
}

const COMMAND_TIMEOUT_MS = 30_000;

/** A word that needs no quoting in a shell. */
const PLAIN_WORD = /^[\w@%+=:,./*-]+$/;

/** The command as typed in a shell. */
export const commandLine = (command: string, args: readonly string[]): string =>
  [command, ...args].map((word) => (PLAIN_WORD.test(word) ? word : `'${word}'`)).join(' ');

/** The failure of a command, with its words. */
export const failed = (
  [command, args]: readonly [string, readonly string[]],
  result: CommandResult,
  timeoutMs: number,
): ExternalFailure => {
  const words = result.stderr.trim() || result.stdout.trim();
  const how = result.code === null ? `ended by a signal or after ${timeoutMs} ms` : `exit code ${result.code}`;
  return new ExternalFailure({
    operation: commandLine(command, args),
    target: 'host',
    message: words === '' ? how : `${how}: ${words}`,
  });
};

/**
 * Runs a command that must succeed. Throws ExternalFailure with the command as its operation and stderr as its message.
 */
export const mustRun = async (
  host: HostPort,
  command: string,
  args: readonly string[],
  timeoutMs: number = COMMAND_TIMEOUT_MS,
): Promise<string> => {
  const result = await host.run(command, args, { timeoutMs });
  if (result.code === 0) return result.stdout;
  throw failed([command, args], result, timeoutMs);
};

/** Runs a command for its exit code. */
export const succeeds = async (host: HostPort, command: string, args: readonly string[]): Promise<boolean> =>
  (await host.run(command, args, { timeoutMs: COMMAND_TIMEOUT_MS })).code === 0;

/** Replaces a file atomically: readers see the old text or the new one, also after a power failure. */
export const replaceFile = async (host: HostPort, path: string, text: string, mode: number): Promise<void> => {
  const beside = `${path}.fairlead-new`;
  await host.writeFile(beside, text, mode);
  await host.rename(beside, path);
};

/** The difference of a file that Fairlead writes completely. */
export const fileDifference = async (
  host: HostPort,
  item: string,
  path: string,
  desired: string,
): Promise<readonly Difference[]> => {
  const text = await host.readFile(path);
  if (text === desired) return [];
  return [
    { item, what: path, observed: text === undefined ? 'missing' : 'other text', desired: 'the text of Fairlead' },
  ];
};
