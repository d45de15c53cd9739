import type { Colors } from 'picocolors/types.js';
import { inOptions } from './command/options.of.fields.js';
import { exitCodeOf } from './exit-codes.js';
import type { CliFailure, Fault } from './failures.js';

/** A failure as text: each sentence once, with its location, advice, and the code to search for. */
export const failureText = (failure: CliFailure, colors: Colors, options: readonly string[] = []): string => {
  const title = colors.red(failure.exit === 'interrupted' ? 'Interrupted:' : 'Error:');
  const faults = [failure, ...failure.further].map(({ code, message, help, field }) =>
    inOptions({ code, message, help, field }, options),
  );
  return bySentence(faults)
    .flatMap(({ message, fields, options: named, help, code }) => [
      `${title} ${message}${code.startsWith('cli.') ? '' : colors.dim(` [${code}]`)}`,
      ...placeLine('Option', named),
      ...placeLine('Field', fields),
      ...(help === undefined || help === '' ? [] : [`  ${help}`]),
    ])
    .join('\n')
    .concat('\n');
};

const placeLine = (what: string, places: readonly string[]): readonly string[] =>
  places.length === 0 ? [] : [`  ${what}${places.length === 1 ? '' : 's'}: ${places.join(', ')}`];

interface NamedFault extends Fault {
  readonly fields: readonly string[];
  readonly options: readonly string[];
}

/** Merges faults with the same sentence about several fields. */
const bySentence = (faults: readonly Fault[]): readonly NamedFault[] => {
  const said = new Map<string, NamedFault>();
  for (const { code, message, help, field, option } of faults) {
    const key = `${code} ${message}`;
    const { fields = [], options = [] } = said.get(key) ?? {};
    const place = option ?? field;
    const further = (before: readonly string[], isHere: boolean): readonly string[] =>
      place === undefined || !isHere ? before : [...new Set([...before, place])];
    const places = { fields: further(fields, option === undefined), options: further(options, option !== undefined) };
    said.set(key, { code, message, help, ...places });
  }
  return [...said.values()];
};

/** A failure as JSON. */
export const failureJson = ({ message, field, help, code, exit, further }: CliFailure): string => {
  const more = further.length === 0 ? {} : { further };
  return `${JSON.stringify({ error: { code, message, field, help, ...more, exitCode: exitCodeOf(exit), class: exit } })}\n`;
};
