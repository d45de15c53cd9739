import { Option, type Command } from 'commander';
import type { Io } from '../io/io.js';

/** The version that removes deprecated names. */
const GOES_IN = '0.2.0';

/** Prints a deprecation warning on standard error. */
export const sayFormer = (io: Pick<Io, 'err'>, former: string, now: string): void =>
  io.err(`${former} is now ${now}; the former name goes in version ${GOES_IN}.\n`);

/** Adds the deprecated name of an option as a hidden alias. `former`: `--spec <name>`. */
export const withFormerOption = (
  command: Command,
  io: Pick<Io, 'err'>,
  former: string,
  now: `--${string}`,
): Command => {
  const hidden = new Option(former).hideHelp();
  const option = command.options.find(({ long }) => long === now);
  if (option === undefined) throw new Error(`${command.name()} has no option ${now}`);
  return command.addOption(hidden).on(`option:${hidden.name()}`, (value: string) => {
    sayFormer(io, hidden.long ?? former, now);
    command.setOptionValueWithSource(option.attributeName(), value, 'cli');
  });
};

/** The same for an option without a value. */
export const withFormerFlag = (
  command: Command,
  io: Pick<Io, 'err'>,
  former: `--${string}`,
  now: `--${string}`,
): Command => {
  const option = command.options.find(({ long }) => long === now);
  if (option === undefined) throw new Error(`${command.name()} has no option ${now}`);
  return command.addOption(new Option(former).hideHelp()).on(`option:${former.slice(2)}`, () => {
    sayFormer(io, former, now);
    command.setOptionValueWithSource(option.attributeName(), !option.negate, 'cli');
  });
};

/** Renamed commands: the group, the deprecated name, and the current name. */
export const FORMER_COMMANDS: readonly (readonly [group: string, former: string, now: string])[] = [
  ['connection', 'set', 'register'],
  ['application', 'show', 'get'],
  ['etcd', 'snapshots', 'list'],
  ['hook', 'secrets', 'list-secrets'],
  ['node', 'release', 'unhold'],
  ['pool', 'release', 'unhold'],
];

/** Replaces a deprecated command name in a command line. The arguments after it are unchanged. */
export const inPresentWords = (args: readonly string[], io: Pick<Io, 'err'>): readonly string[] => {
  for (const [group, former, now] of FORMER_COMMANDS) {
    const at = args.findIndex((word, index) => [group, `${group}s`].includes(word) && args[index + 1] === former);
    const isCommand =
      at === 0 || (at > 0 && args.slice(0, at).every((word, index) => isOptionOrValue(args, word, index)));
    if (!isCommand) continue;
    sayFormer(io, `"fairlead ${group} ${former}"`, `"fairlead ${group} ${now}"`);
    return args.map((word, index) => (index === at + 1 ? now : word));
  }
  return args;
};

const isOptionOrValue = (args: readonly string[], word: string, index: number): boolean =>
  word.startsWith('-') || args[index - 1]?.startsWith('-') === true;
