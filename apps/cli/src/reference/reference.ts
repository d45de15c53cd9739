import type { Argument, Command, Option } from 'commander';
import { examplesOf, SHARED_HEADING, titleOf } from '../command/command.js';
import { meaningOf } from '../command/help.text.js';
import { EXIT_CODES } from '../exit-codes.js';

/** Renders docs/cli.md from the command tree. A spec compares it with the file. */
export const referenceText = (program: Command): string =>
  [
    '# The command line',
    '',
    '<!-- Generated from the command tree: node apps/cli/dist/reference/write.js -->',
    '',
    sentence(program.description()),
    '',
    'It finds the local instance by itself: in the nearest `.fairlead` folder here or above, else in the checkout. Another server is named by',
    '`--server` or `FAIRLEAD_SERVER`, and its token by `--token-file` or `FAIRLEAD_TOKEN`; or both by a context',
    '([connect](connect.md)). Flags come before the environment, the environment before the context, and the context before the local instance.',
    '',
    'Answers go to standard output, everything else (progress, advice, failures) to standard error. On a terminal progress is a tree that is',
    'redrawn; elsewhere, or with `CI` set, it is a line per change. `NO_COLOR` is respected.',
    '',
    '## Exit codes',
    '',
    '| Code | Class | Meaning |',
    '|---|---|---|',
    ...Object.entries(EXIT_CODES).map(([name, { code, meaning }]) => `| ${code} | ${name} | ${meaning} |`),
    '',
    'A failure is one sentence with what can be done about it, and the code of the refusal in brackets. With `--output json` it is one line of',
    'JSON on standard error: `{"error": {"code", "message", "field", "help", "exitCode", "class"}}`.',
    '',
    '## Shared options',
    '',
    ...optionsTable(program.options.filter(({ helpGroupHeading }) => helpGroupHeading === SHARED_HEADING)),
    '',
    'Commands that ask a server take them before or after the command. `--namespace` is for commands about what belongs to a namespace. A',
    'command refuses an option that it does not use; `fairlead <command> --help` shows what it takes.',
    '',
    '## Commands',
    '',
    ...leavesOf(program).map((command) => `- [\`${titleOf(command)}\`](#${anchorOf(command)}): ${command.summary()}`),
    '',
    ...leavesOf(program).flatMap(commandSection),
  ].join('\n');

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

/** The commands with an action, in the order of the help. */
const leavesOf = (command: Command): readonly Command[] =>
  command.commands
    .filter((child) => !child.name().startsWith('__'))
    .flatMap((child) => (child.commands.length > 0 ? leavesOf(child) : [child]));

const anchorOf = (command: Command): string => titleOf(command).replaceAll(' ', '-');

const usageOf = (command: Command): string =>
  [titleOf(command), ...command.registeredArguments.map(argumentText), '[options]'].join(' ');

const argumentText = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

const commandSection = (command: Command): readonly string[] => {
  const own = command.options.filter(({ helpGroupHeading, hidden }) => helpGroupHeading !== SHARED_HEADING && !hidden);
  const examples = examplesOf(command);
  return [
    `### ${titleOf(command)}`,
    '',
    sentence(command.description()),
    '',
    '```text',
    usageOf(command),
    '```',
    '',
    ...(own.length === 0 ? [] : [...optionsTable(own), '']),
    ...(examples.length === 0
      ? []
      : ['```sh', ...examples.flatMap(([line, meaning]) => [`# ${meaning}`, line]), '```', '']),
  ];
};

const optionsTable = (options: readonly Option[]): readonly string[] => [
  '| Option | Meaning |',
  '|---|---|',
  ...options.map((option) => `| \`${option.flags}\` | ${escaped(meaningOf(option))} |`),
];

const escaped = (text: string): string => text.replaceAll('|', '\\|');
