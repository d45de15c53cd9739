import type { Command } from 'commander';
import { usageFailure, type CliFailure } from '../failures.js';
import { titleOf } from './command.js';
import { nearest } from './nearest.js';
import { wordsOfPeer } from './words.of.peers.js';

const HIDDEN = '__';
const SUGGESTIONS_MAX = 3;
/** Terms of other programs, with their names in this one. */
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

/** Where a group has not the one, it has another. */
const LOOKS: readonly string[] = ['get', 'list', 'describe'];

const visible = (command: Command): readonly Command[] =>
  command.commands.filter((child) => !child.name().startsWith(HIDDEN));

const namesOf = (command: Command): readonly string[] => [command.name(), ...command.aliases()];

/** Whether the command has this name, alias or synonym: `cluster` and `clusters`, `get` and `show`. */
const isCalled = (command: Command, word: string): boolean =>
  namesOf(command).some((name) => name === word || name === SYNONYMS[word]);

const leavesOf = (command: Command): readonly Command[] =>
  visible(command).flatMap((child) => (child.commands.length > 0 ? leavesOf(child) : [child]));

/**
 * Commands for words that are not a command of `command`: those with the words in another order (`create cluster`),
 * otherwise those with the first word as a subcommand (`describe`). If empty, suggestions follow from the spelling.
 */
const elsewhere = (command: Command, words: readonly string[]): readonly Command[] => {
  const [first = '', second] = words;
  if (second !== undefined) {
    const group = visible(command).find((child) => isCalled(child, second));
    if (group !== undefined && group.commands.length === 0) return [group];
    const swapped = group === undefined ? [] : visible(group).filter((child) => isCalled(child, first));
    if (swapped.length > 0) return swapped;
    const looks = group === undefined ? [] : visible(group).filter((child) => LOOKS.includes(child.name()));
    if (LOOKS.includes(SYNONYMS[first] ?? first) && looks.length > 0) return looks;
  }
  return leavesOf(command).filter((leaf) => isCalled(leaf, first));
};

/** The error for an unknown command, with suggestions and where all commands are listed. */
export const unknownCommand = (command: Command, words: readonly string[]): CliFailure => {
  const [word = ''] = words;
  const advice = wordsOfPeer(command.name(), words);
  if (advice !== undefined) return usageFailure(`unknown command '${word}'`, advice);
  const spelled = nearest(word, visible(command), namesOf);
  const meant = (spelled.length > 0 ? spelled : elsewhere(command, words)).slice(0, SUGGESTIONS_MAX);
  const titles = meant.map((one) => `"${titleOf(one)}"`).join(' or ');
  return usageFailure(
    `unknown command '${word}'`,
    titles === '' ? `"${titleOf(command)} --help" lists the commands.` : `Did you mean ${titles}?`,
  );
};

/** The command with these names; throws at the first unknown one. */
export const commandNamed = (program: Command, words: readonly string[]): Command => {
  const [word, ...rest] = words;
  if (word === undefined) return program;
  const next = visible(program).find((child) => namesOf(child).includes(word));
  if (next === undefined) throw unknownCommand(program, words);
  return commandNamed(next, rest);
};
