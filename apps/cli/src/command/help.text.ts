import { Help, type Command, type Option } from 'commander';

/** An example command line, and its meaning. */
export type Example = readonly [line: string, meaning: string];

const INDENT = 2;
const CONTINUED = 6;

/** Wraps words at `width`; a longer word has its own line. */
const wrapped = (words: readonly string[], width: number): readonly string[] => {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
};

/** An indented text, wrapped to the available columns. */
export const indented = (text: string, columns: number, indent = INDENT): string =>
  wrapped(text.split(' '), columns - indent)
    .map((line) => `${' '.repeat(indent)}${line}`)
    .join('\n');

/** Wraps a command line with backslashes, so that a shell can read it. */
const commandText = (line: string, columns: number): string => {
  const words = line.match(/(?:"[^"]*"|'[^']*'|\S)+/g) ?? [];
  const [first = '', ...others] = wrapped(words, columns - CONTINUED - 2);
  return [`  ${first}`, ...others.map((other) => `${' '.repeat(CONTINUED)}${other}`)].join(' \\\n');
};

const meaningText = (meaning: string, columns: number): string =>
  wrapped(meaning.split(' '), columns - 4)
    .map((line) => `  # ${line}`)
    .join('\n');

export const examplesText = (examples: readonly Example[], columns: number): string =>
  examples.length === 0
    ? ''
    : `\nExamples:\n${examples
        .map(([line, meaning]) => `${meaningText(meaning, columns)}\n${commandText(line, columns)}`)
        .join('\n\n')}\n`;

/** Lists the shared options of a command in a line or two; the program's help describes them. */
export const sharedText = (options: readonly Option[], columns: number): string => {
  if (options.length === 0) return '';
  const names = options.map(({ short, long }) => short ?? long ?? '').join(', ');
  return `\nShared options (see "fairlead --help"):\n${indented(names, columns)}\n`;
};

/**
 * Formats the help of a command without the shared options, which the program's help describes, and without commander's
 * `help` command. Only affects the display: suggestions for misspelled options include them.
 */
export const formatHelp =
  (sharedHeading: string) =>
  (command: Command, helper: Help): string => {
    const isProgram = command.parent === null;
    const own: Help = Object.assign(Object.create(helper) as Help, {
      visibleOptions: (one: Command) =>
        helper.visibleOptions(one).filter(({ helpGroupHeading }) => isProgram || helpGroupHeading !== sharedHeading),
      visibleCommands: (one: Command) =>
        helper.visibleCommands(one).filter((child) => isProgram || child.name() !== 'help'),
    });
    return Help.prototype.formatHelp.call(own, command, own);
  };

/** What an option means, with its choices and its default; a flag that is on says so itself, and nothing is the default of a text. */
export const meaningOf = ({ description, argChoices, defaultValue, defaultValueDescription }: Option): string => {
  const choices = argChoices === undefined ? '' : `: ${argChoices.join(', ')}`;
  const preset =
    defaultValue === undefined || defaultValue === '' || typeof defaultValue === 'boolean'
      ? ''
      : ` (default: ${defaultValueDescription ?? String(defaultValue)})`;
  return `${description}${choices}${preset}`;
};
