import { CommanderError, type Command } from 'commander';
import { unusedSharedText } from './command/command.js';
import { inPresentWords } from './command/former.js';
import { unknownCommand } from './command/suggestions.js';
import { failureJson, failureText } from './failure.text.js';
import { exitCodeOf } from './exit-codes.js';
import { AnsweredExit, CliFailure, usageFailure, wordsOf } from './failures.js';
import { guardedIo } from './io/guarded.io.js';
import type { Io } from './io/io.js';
import { buildProgram } from './program.js';

/** Runs one command line (without the program's name) and returns its exit code. Never throws. */
export const runCli = async (args: readonly string[], given: Io): Promise<number> => {
  const io = guardedIo(given);
  const program = buildProgram(io);
  try {
    await program.parseAsync([...inPresentWords(args, io)], { from: 'user' });
    return exitCodeOf('ok');
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodeOf('ok'); // Help or version was requested.
    if (error instanceof CommanderError && error.code === 'commander.help') return exitCodeOf('usage'); // A group without a command: it printed its help.
    if (error instanceof AnsweredExit) return typeof error.exit === 'number' ? error.exit : exitCodeOf(error.exit);
    const failure = asFailure(error, program, io);
    io.err(wantsJson(args) ? failureJson(failure) : failureText(failure, io.colors, optionsOf(program, args)));
    return exitCodeOf(failure.exit);
  }
};

/** The options of the command that ran; empty if the request is in a file, because then the user knows the fields. */
const optionsOf = (program: Command, args: readonly string[]): readonly string[] => {
  if (args.some((arg) => arg === '-f' || /^--(file|strategy|settings-file)\b/.test(arg))) return [];
  const command = reached(program, '');
  return command.options.flatMap(({ long }) => long ?? []);
};

const asFailure = (error: unknown, program: Command, io: Io): CliFailure => {
  if (error instanceof CliFailure) return error;
  if (error instanceof CommanderError && error.code === 'commander.unknownCommand') return unknownOf(program, error);
  if (error instanceof CommanderError && error.code === 'commander.unknownOption')
    return unknownOptionOf(program, error);
  if (error instanceof CommanderError) return usageOf(error);
  if (io.interrupts.first.aborted)
    return new CliFailure('interrupted', {
      code: 'cli.interrupted',
      message: 'Stopped by Ctrl-C',
      help: 'What the server has accepted continues there.',
      cause: error,
    });
  return new CliFailure('failed', { code: 'cli.unexpected', message: wordsOf(error), cause: error });
};

/** The command at which commander failed: the one whose operands begin with the unknown word. */
const reached = (command: Command, word: string): Command => {
  const [first] = command.args;
  const next = command.commands.find((child) => child.name() === first || child.aliases().includes(first ?? ''));
  return first === word || next === undefined ? command : reached(next, word);
};

const quotedIn = ({ message }: CommanderError): string => /'([^']*)'/.exec(message)?.[1] ?? '';

const unknownOf = (program: Command, error: CommanderError): CliFailure => {
  const word = quotedIn(error);
  const at = reached(program, word);
  return unknownCommand(at, at.args.length === 0 ? [word] : at.args);
};

const unknownOptionOf = (program: Command, error: CommanderError): CliFailure => {
  const flag = quotedIn(error).replace(/=.*/s, '');
  const unused = unusedSharedText(reached(program, flag), flag);
  return unused === undefined ? usageOf(error) : usageFailure(unused, 'Add --help for its arguments and options.');
};

/** Commander's message, whose suggestion is in parentheses on a second line. */
const usageOf = ({ message }: CommanderError): CliFailure => {
  const [sentence = '', ...rest] = message.replace(/^error: /, '').split('\n');
  const suggestion = rest
    .join(' ')
    .trim()
    .replace(/^\((.*)\)$/, '$1');
  return usageFailure(sentence, suggestion === '' ? 'Add --help for its arguments and options.' : suggestion);
};

/** Also works if the command line could not be parsed. */
const wantsJson = (args: readonly string[]): boolean =>
  args.some(
    (arg, index) => /^(--output|-o)=?json$/.test(arg) || (/^(--output|-o)$/.test(arg) && args[index + 1] === 'json'),
  );
