import type { Command, Option } from 'commander';

/** Completions for the end of a command line: words of the program, or names from the server. */
export interface Candidates {
  readonly words: readonly string[];
  readonly names?: NameKind | undefined;
  /** The cluster whose nodes, pools or snapshots are completed. */
  readonly cluster?: string | undefined;
  /** Options with values earlier in the line, by attribute: such as a namespace, a server or a connection. */
  readonly given?: Readonly<Record<string, string>>;
  /** A path in the file system, which the shell completes. */
  readonly files?: true | undefined;
}

const NAME_KINDS = [
  'cluster',
  'node',
  'pool',
  'snapshot',
  'generation',
  'template',
  'connection',
  'spec',
  'version',
  'realm',
  'application',
  'namespace',
  'context',
] as const;
export type NameKind = (typeof NAME_KINDS)[number];

/** Options and arguments whose value is a name of another kind. */
const MEANT: Readonly<Record<string, NameKind>> = {
  nodes: 'node',
  remove: 'node',
  namespaces: 'namespace',
  workerSpec: 'spec',
  machineType: 'spec',
  kubernetesVersion: 'version',
};

const nameKindOf = (word: string): NameKind | undefined => NAME_KINDS.find((kind) => kind === word) ?? MEANT[word];

/** Commands with a new name as argument, which cannot be completed. */
const CHOSEN: readonly string[] = ['pool create', 'namespace create'];
/** The commands where `--to` is a version; elsewhere it is a moment or a file. */
const UPGRADES: readonly string[] = ['plan', 'start'];

/** Completions for the last of `words`, which may be empty or partial; the other words are complete. */
export const candidatesFor = (program: Command, words: readonly string[]): Candidates => {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const { command, operands, awaiting, given } = walk(program, before);
  const about = { cluster: given['cluster'] ?? operands[0], given };
  if (awaiting !== undefined) return valuesOf(awaiting, command, about);
  if (current.startsWith('-')) return { words: optionWords(command) };
  return { words: subcommandWords(command), ...argumentNames(command, operands, about) };
};

interface Position {
  readonly command: Command;
  readonly operands: readonly string[];
  /** The option whose value comes next. */
  readonly awaiting: Option | undefined;
  readonly given: Readonly<Record<string, string>>;
}

type CandidateContext = Pick<Candidates, 'cluster' | 'given'>;

/** Follows complete words through the command tree like the parser. */
const walk = (program: Command, words: readonly string[]): Position =>
  words.reduce<Position>(
    ({ command, operands, awaiting, given }, word) => {
      if (awaiting !== undefined)
        return { command, operands, awaiting: undefined, given: { ...given, [awaiting.attributeName()]: word } };
      if (word.startsWith('-')) {
        const [, flag = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
        const option = valueOption(command, flag);
        if (value === undefined || option === undefined) return { command, operands, awaiting: option, given };
        return { command, operands, awaiting: undefined, given: { ...given, [option.attributeName()]: value } };
      }
      const next = operands.length === 0 ? subcommandNamed(command, word) : undefined;
      return next === undefined
        ? { command, operands: [...operands, word], awaiting, given }
        : { command: next, operands: [], awaiting, given };
    },
    { command: program, operands: [], awaiting: undefined, given: {} },
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

const valuesOf = (option: Option, command: Command, about: CandidateContext): Candidates => {
  if (option.argChoices !== undefined) return { words: option.argChoices };
  const name = option.attributeName();
  const isVersion = name === 'to' && command.parent?.name() === 'upgrade' && UPGRADES.includes(command.name());
  const isGeneration = name === 'to' && command.name() === 'rollback';
  const names = isVersion ? 'version' : isGeneration ? 'generation' : nameKindOf(name);
  if (names !== undefined) return { words: [], names, ...about };
  return /<(file|dir)>/.test(option.flags) ? { words: [], files: true } : { words: [] };
};

/**
 * `node remove <cluster> <node>`: the names of the arguments determine the kind. A group uses the arguments of its
 * default command.
 */
const argumentNames = (command: Command, operands: readonly string[], about: CandidateContext): Partial<Candidates> => {
  const leaf =
    command.registeredArguments.length > 0
      ? command
      : (command.commands.find((child) => child.name() === 'show') ?? command);
  const last = leaf.registeredArguments.at(-1);
  const argument = leaf.registeredArguments[operands.length] ?? (last?.variadic === true ? last : undefined);
  const isChosen = argument?.name() === leaf.parent?.name() && CHOSEN.includes(`${leaf.parent?.name()} ${leaf.name()}`);
  if (argument === undefined || isChosen) return {};
  if (argument.argChoices !== undefined) return { words: [...subcommandWords(command), ...argument.argChoices] };
  const names = nameKindOf(argument.name());
  return names === undefined ? {} : { names, ...about };
};
