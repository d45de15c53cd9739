import type { Command } from 'commander';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';

/** Options of commands that take something away. */
export interface ConfirmOptions {
  readonly yes?: true;
}

export const addConfirmOption = (command: Command): Command => command.option('-y, --yes', 'do not ask');

/** Before anything is changed. `typed`: what must be typed; absent: a yes. Without a terminal, --yes is required. */
export const confirm = async (
  io: Io,
  { what, typed }: { readonly what: string; readonly typed?: string },
  { yes }: ConfirmOptions,
): Promise<void> => {
  if (yes === true) return;
  if (io.ask === undefined)
    throw usageFailure(
      `There is no terminal to ask at, and nothing was changed: ${what}`,
      'Give --yes to go on without being asked.',
    );
  io.err(`${what}.\n`);
  const answer = (await io.ask(typed === undefined ? 'Go on? [y/N] ' : `Type ${typed} to go on: `)).trim();
  if (typed === undefined ? /^y(es)?$/i.test(answer) : answer === typed) return;
  throw new CliFailure('failed', { code: 'cli.not-confirmed', message: 'It was not confirmed: nothing was changed' });
};
