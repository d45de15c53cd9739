import { Command, Option } from 'commander';
import type { Io } from '../io/io.js';
import { answerText, FORMATS, type CommandOutput } from '../output/format.js';
import { AnsweredExit, usageFailure } from '../failures.js';
import { examplesText, sharedText, type Example } from './help.text.js';
import { Session, type SharedOptions } from './session.js';

const examplesByCommand = new WeakMap<Command, readonly Example[]>();
export const examplesOf = (command: Command): readonly Example[] => examplesByCommand.get(command) ?? [];

export interface CommandDefinition {
  /** Name and arguments in commander's syntax: `get <name>`. */
  readonly usage: string;
  readonly summary: string;
  /** Replaces the summary in the help, if it is not sufficient. */
  readonly description?: string;
  readonly examples: readonly Example[];
  /** Runs if the group's name is not followed by a command. */
  readonly isDefault?: true;
  /**
   * The shared options that the command uses; others are refused. `server`: all; `installation`: all except the
   * namespace; `output`: only the format; `namespace`, `output-namespace`: these, without a server; `none`: none.
   * `out-file…`: like `server` and `output`, but -o is the path of a file.
   */
  readonly shared?:
    'server' | 'installation' | 'output' | 'output-namespace' | 'namespace' | 'none' | 'out-file' | 'out-file-alone';
}

/** Adds a command with an action. */
export const addCommand = (parent: Command, definition: CommandDefinition): Command => {
  const command = parent
    .command(definition.usage, { isDefault: definition.isDefault === true })
    .summary(definition.summary)
    .description(definition.description ?? `${definition.summary}.`);
  const shared = sharedOptions(definition.shared ?? 'server');
  for (const option of shared) command.addOption(option);
  command.hook('preAction', () => refuseMisplaced(command, shared));
  examplesByCommand.set(command, definition.examples);
  return command.addHelpText('after', () => {
    const columns = command.configureOutput().getOutHelpWidth?.() ?? HELP_COLUMNS;
    return sharedText(shared, columns) + examplesText(definition.examples, columns);
  });
};

/**
 * Every shared option is accepted before the command; one that the command does not use must not be ignored silently.
 */
const refuseMisplaced = (command: Command, shared: readonly Option[]): void => {
  for (let above = command.parent; above !== null; above = above.parent) {
    for (const option of above.options) {
      const name = option.attributeName();
      if (above.getOptionValueSource(name) !== 'cli' || shared.some((one) => one.attributeName() === name)) continue;
      const takes = command.options.some(({ long }) => long === option.long);
      throw usageFailure(
        takes
          ? `${option.long} must stand after ${command.name()}: there it means something else than before it`
          : unusedText(command, option),
        'Add --help for its arguments and options.',
      );
    }
  }
};

/** The full name of a command, including the program. */
export const titleOf = (command: Command): string =>
  `${command.parent === null ? '' : `${titleOf(command.parent)} `}${command.name()}`;

const unusedText = (command: Command, { long }: Option): string => `"${titleOf(command)}" does not use ${long}`;

/** The message for a shared option that the command does not use; undefined if it is not a shared option. */
export const unusedSharedText = (command: Command, flag: string): string | undefined => {
  const option = sharedOptions('server').find(({ long, short }) => long === flag || short === flag);
  return option === undefined ? undefined : unusedText(command, option);
};

/** Adds a group of commands. */
export const addGroup = (parent: Command, name: string, summary: string): Command =>
  parent.command(name).summary(summary).description(`${summary}.`);

const HELP_COLUMNS = 80;

export const SHARED_HEADING = 'Shared options:';

export const sharedOptions = (which: NonNullable<CommandDefinition['shared']>): readonly Option[] => {
  if (which === 'none') return [];
  const output = new Option(
    which.startsWith('out-file') ? '--output <format>' : '-o, --output <format>',
    'output format',
  )
    .choices(FORMATS)
    .helpGroup(SHARED_HEADING);
  if (which === 'output' || which === 'out-file-alone') return [output];
  const namespace = new Option(
    '-n, --namespace <name>',
    'namespace of the cluster (FAIRLEAD_NAMESPACE; default: "default")',
  ).helpGroup(SHARED_HEADING);
  if (which === 'namespace') return [namespace];
  if (which === 'output-namespace') return [output, namespace];
  return [
    output,
    ...(which === 'installation' ? [] : [namespace]),
    new Option(
      '--context <name>',
      'context to use (FAIRLEAD_CONTEXT; default: the current one of "fairlead context")',
    ).helpGroup(SHARED_HEADING),
    new Option('--server <url>', 'address of the REST API (FAIRLEAD_SERVER; default: the local instance)').helpGroup(
      SHARED_HEADING,
    ),
    new Option(
      '--token-file <file>',
      "file with the API token (or set FAIRLEAD_TOKEN to the token; default: the local instance's token)",
    ).helpGroup(SHARED_HEADING),
    new Option(
      '--ca-file <file>',
      'CA certificate for an https:// address, PEM (FAIRLEAD_CA_FILE; default: the CAs that Node.js trusts)',
    ).helpGroup(SHARED_HEADING),
    new Option(
      '--data <dir>',
      'data folder of the local instance (default: .fairlead in this folder, a parent, or the checkout)',
    ).helpGroup(SHARED_HEADING),
  ];
};

type Action<Arguments extends readonly unknown[]> = (
  session: Session,
  ...args: Arguments
) => Promise<CommandOutput | void>;

/** Options before the command's name belong to its groups or the program; the nearest one takes precedence. */
const optionsOf = (command: Command): SharedOptions => ({
  ...(command.parent === null ? {} : optionsOf(command.parent)),
  ...command.opts(),
});

/** The handler for commander: passes a session to the action, and prints its answer. */
export const runs =
  <Arguments extends readonly unknown[]>(io: Io, action: Action<Arguments>) =>
  async (...received: unknown[]): Promise<void> => {
    const command = received.at(-1);
    if (!(command instanceof Command)) throw new Error('commander did not say which command runs');
    const session = new Session(io, optionsOf(command));
    const answer = await action(session, ...(received.slice(0, -1) as unknown as Arguments));
    if (answer !== undefined) io.out(answerText(answer, session.format, io.outColumns()));
    if (answer?.exit !== undefined) throw new AnsweredExit(answer.exit);
  };
