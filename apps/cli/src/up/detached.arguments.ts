import type { Command } from 'commander';

/** Those that say what this process does, and not the one in the background. */
const OWN = new Set(['detach']);

/**
 * The command line of the same command in the background: every option that has a value, also one that was added after this was written.
 * Where a flag was not given there is nothing to say.
 */
export const detachedArguments = (command: Command): readonly string[] =>
  command.options
    .filter((option) => !OWN.has(option.attributeName()))
    .flatMap((option): readonly string[] => {
      const value: unknown = command.getOptionValue(option.attributeName());
      if (value === undefined || value === false) return [];
      const flag = option.long ?? option.flags;
      return option.isBoolean() ? [flag] : [`${flag}=${String(value)}`];
    });
