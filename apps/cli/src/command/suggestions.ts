import type { Command } from 'commander';
import { usageFailure, type CliFailure } from '../failures.js';
import { titleOf } from './command.js';
import { nearest } from './nearest.js';

const HIDDEN = '__';
const SUGGESTIONS_MAX = 3;
/** Words that other programs use, for what is called otherwise here. */
const SYNONYMS: Readonly<Record<string, string>> = {
  rm: 'delete',
  del: 'delete',
  destroy: 'delete',
  new: 'create',
  make: 'create',
  show: 'get',
  start: 'up',
  stop: 'down',
  logs: 'events',
  log: 'events',
  ns: 'namespace',
};

const visible = (command: Command): readonly Command[] =>
  command.commands.filter((child) => !child.name().startsWith(HIDDEN));

const namesOf = (command: Command): readonly string[] => [command.name(), ...command.aliases()];

/** `cluster` is meant by `cluster` and `clusters`, `get` also by `show`. */
const isCalled = (command: Command, word: string): boolean =>
  namesOf(command).some((name) => name === word || name === SYNONYMS[word]);

const leavesOf = (command: Command): readonly Command[] =>
  visible(command).flatMap((child) => (child.commands.length > 0 ? leavesOf(child) : [child]));

/**
 * For words of which `command` knows none: the commands that have all of them in another order (`create cluster`), else those that have the
 * first one further down (`describe`). Empty: none is that near, and the spelling decides.
 */
const elsewhere = (command: Command, words: readonly string[]): readonly Command[] => {
  const [first = '', second] = words;
  if (second !== undefined) {
    const group = visible(command).find((child) => isCalled(child, second));
    const swapped = group === undefined ? [] : visible(group).filter((child) => isCalled(child, first));
    if (swapped.length > 0) return swapped;
  }
  return leavesOf(command).filter((leaf) => isCalled(leaf, first));
};

/** What was probably meant by words that are no command of `command`, and where all of them are listed. */
export const unknownCommand = (command: Command, words: readonly string[]): CliFailure => {
  const [word = ''] = words;
  const spelled = nearest(word, visible(command), namesOf);
  const meant = (spelled.length > 0 ? spelled : elsewhere(command, words)).slice(0, SUGGESTIONS_MAX);
  const titles = meant.map((one) => `"${titleOf(one)}"`).join(' or ');
  return usageFailure(
    `unknown command '${word}'`,
    titles === '' ? `"${titleOf(command)} --help" lists the commands.` : `Did you mean ${titles}?`,
  );
};

/** The command that words lead to; throws at the first that leads nowhere. */
export const commandNamed = (program: Command, words: readonly string[]): Command => {
  const [word, ...rest] = words;
  if (word === undefined) return program;
  const next = visible(program).find((child) => namesOf(child).includes(word));
  if (next === undefined) throw unknownCommand(program, words);
  return commandNamed(next, rest);
};
