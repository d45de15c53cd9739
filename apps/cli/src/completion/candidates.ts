import type { Command, Option } from 'commander';

/** What can stand at the end of a command line: words of the program, or names that only the server knows. */
export interface Candidates {
  readonly words: readonly string[];
  readonly names?: NameKind | undefined;
  /** The cluster whose nodes are meant. */
  readonly cluster?: string | undefined;
  /** A path of the file system: the shell knows better. */
  readonly files?: true | undefined;
}

export type NameKind = 'cluster' | 'node' | 'connection' | 'realm' | 'application' | 'namespace';

const NAME_KINDS: readonly NameKind[] = ['cluster', 'node', 'connection', 'realm', 'application', 'namespace'];
const isNameKind = (text: string): text is NameKind => NAME_KINDS.some((kind) => kind === text);

/** Candidates for the last of `words`, which may be empty or begun; the words before it are whole. */
export const candidatesFor = (program: Command, words: readonly string[]): Candidates => {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const { command, operands, awaiting } = walk(program, before);
  if (awaiting !== undefined) return valuesOf(awaiting);
  if (current.startsWith('-')) return { words: optionWords(command) };
  return { words: subcommandWords(command), ...argumentNames(command, operands) };
};

interface Position {
  readonly command: Command;
  readonly operands: readonly string[];
  /** The option whose value comes next. */
  readonly awaiting: Option | undefined;
}

/** Follows whole words down the tree as the parser would. */
const walk = (program: Command, words: readonly string[]): Position =>
  words.reduce<Position>(
    ({ command, operands, awaiting }, word) => {
      if (awaiting !== undefined) return { command, operands, awaiting: undefined };
      if (word.startsWith('-'))
        return { command, operands, awaiting: word.includes('=') ? undefined : valueOption(command, word) };
      const next = operands.length === 0 ? subcommandNamed(command, word) : undefined;
      return next === undefined
        ? { command, operands: [...operands, word], awaiting }
        : { command: next, operands: [], awaiting };
    },
    { command: program, operands: [], awaiting: undefined },
  );

const subcommandNamed = (command: Command, word: string): Command | undefined =>
  command.commands.find((child) => child.name() === word || child.aliases().includes(word));

const valueOption = (command: Command, word: string): Option | undefined =>
  command.options.find(
    ({ long, short, required, optional }) => (long === word || short === word) && (required || optional),
  );

const optionWords = (command: Command): readonly string[] => [
  ...command.options
    .filter(({ hidden }) => !hidden)
    .flatMap(({ long }) => (long === undefined || long === null ? [] : [long])),
  '--help',
];

const isHidden = (command: Command): boolean => command.name().startsWith('__');

const subcommandWords = (command: Command): readonly string[] =>
  command.commands.filter((child) => !isHidden(child)).map((child) => child.name());

const valuesOf = (option: Option): Candidates => {
  if (option.argChoices !== undefined) return { words: option.argChoices };
  const name = option.attributeName();
  if (isNameKind(name)) return { words: [], names: name };
  return /<(file|dir)>/.test(option.flags) ? { words: [], files: true } : { words: [] };
};

/** `node remove <cluster> <node>`: the arguments' own names say what they are. A default command lends its own. */
const argumentNames = (command: Command, operands: readonly string[]): Pick<Candidates, 'names' | 'cluster'> => {
  const leaf =
    command.registeredArguments.length > 0
      ? command
      : (command.commands.find((child) => child.name() === 'show') ?? command);
  const argument = leaf.registeredArguments[operands.length]?.name();
  if (argument === undefined || !isNameKind(argument)) return {};
  return argument === 'node' ? { names: 'node', cluster: operands[0] } : { names: argument };
};
