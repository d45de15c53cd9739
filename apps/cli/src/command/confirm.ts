import type { Command } from 'commander';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';

/** Options of commands that take something away. */
export interface ConfirmOptions {
  readonly yes?: true;
}

export const CONFIRM_OPTION = ['-y, --yes', 'do not ask for confirmation'] as const;

export const addConfirmOption = (command: Command): Command => command.option(...CONFIRM_OPTION);

interface Question {
  /** What will happen; absent: it was shown already. */
  readonly what?: string;
  /** Absent: whether to go on. */
  readonly question?: string;
  /** What must be typed; absent: a yes. */
  readonly typed?: string;
}

/** Before anything is changed. Without a terminal, --yes is required. */
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
