import { Option, type Command } from 'commander';
import type { Io } from '../io/io.js';

/** Until when former names are understood. */
const GOES_IN = '0.2.0';

/** Says once, on standard error, what a former name is called now. */
export const sayFormer = (io: Pick<Io, 'err'>, former: string, now: string): void =>
  io.err(`${former} is now ${now}; the former name goes in version ${GOES_IN}.\n`);

/** An option's former name: hidden, and understood as the option. `former`: `--spec <name>`. */
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
