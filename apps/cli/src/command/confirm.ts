import type { Command } from 'commander';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';

/** Options of destructive commands. */
export interface ConfirmOptions {
  readonly yes?: true;
}

export const CONFIRM_OPTION = ['-y, --yes', 'do not ask for confirmation'] as const;

export const addConfirmOption = (command: Command): Command => command.option(...CONFIRM_OPTION);

interface Question {
  /** The consequences; absent if they have been printed already. */
  readonly what?: string;
  /** Default: whether to continue. */
  readonly question?: string;
  /** The text that the user must type; if absent, a yes is sufficient. */
  readonly typed?: string;
}

/** Asks before a change. Without a terminal, --yes is required. */
export const confirm = async (
  io: Io,
  { what, question = 'Go on?', typed }: Question,
  { yes }: ConfirmOptions,
): Promise<void> => {
  if (yes === true) return;
  if (io.ask === undefined)
    throw usageFailure(
      `There is no terminal for the confirmation; nothing was changed`,
      `Give --yes to skip the confirmation.${what === undefined ? '' : ` ${what}.`}`,
    );
  if (what !== undefined) io.err(`${what}.\n`);
  const answer = (await io.ask(typed === undefined ? `${question} [y/N] ` : `Type ${typed} to continue: `)).trim();
  if (typed === undefined ? /^y(es)?$/i.test(answer) : answer === typed) return;
  throw new CliFailure('failed', { code: 'cli.not-confirmed', message: 'Not confirmed; nothing was changed' });
};
