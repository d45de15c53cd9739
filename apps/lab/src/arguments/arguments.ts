/** A parsed command line: `--name value`, `--name=value`, `-n`, and the positional arguments in order. */
export interface ParsedArguments {
  readonly positional: readonly string[];
  has(...names: readonly string[]): boolean;
  value(...names: readonly string[]): string | undefined;
}

/** `withValue` lists the options that take the next word as their value if they are not written with `=`. */
export const parseArguments = (args: readonly string[], withValue: readonly string[] = []): ParsedArguments => {
  const positional: string[] = [];
  const options = new Map<string, string>();
  let optionsEnded = false;
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index] ?? '';
    if (optionsEnded || !word.startsWith('-') || word === '-') positional.push(word);
    else if (word === '--') optionsEnded = true;
    else if (word.includes('=')) options.set(word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1));
    else if (withValue.includes(word)) options.set(word, args[(index += 1)] ?? '');
    else options.set(word, '');
  }
  return {
    positional,
    has: (...names) => names.some((name) => options.has(name)),
    value: (...names) => names.map((name) => options.get(name)).find((value) => value !== undefined),
  };
};
