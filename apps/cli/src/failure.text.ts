import type { Colors } from 'picocolors/types.js';
import { exitCodeOf } from './exit-codes.js';
import type { CliFailure, Fault } from './failures.js';

/** A failure for a person: each sentence once, with where it is, what can be done, and the code to search for. */
export const failureText = (failure: CliFailure, colors: Colors): string => {
  const title = colors.red(failure.exit === 'interrupted' ? 'Interrupted:' : 'Error:');
  return bySentence([failure, ...failure.further])
    .flatMap(({ message, fields, help, code }) => [
      `${title} ${message}${code.startsWith('cli.') ? '' : colors.dim(` [${code}]`)}`,
      ...(fields.length === 0 ? [] : [`  ${fields.length === 1 ? 'Field' : 'Fields'}: ${fields.join(', ')}`]),
      ...(help === undefined || help === '' ? [] : [`  ${help}`]),
    ])
    .join('\n')
    .concat('\n');
};

interface Said extends Fault {
  readonly fields: readonly string[];
}

/** The same sentence about several fields is said once. */
const bySentence = (faults: readonly Fault[]): readonly Said[] => {
  const said = new Map<string, Said>();
  for (const { code, message, help, field } of faults) {
    const key = `${code} ${message}`;
    const fields = [...(said.get(key)?.fields ?? []), ...(field === undefined ? [] : [field])];
    said.set(key, { code, message, help, fields: [...new Set(fields)] });
  }
  return [...said.values()];
};

/** The same for a program. */
export const failureJson = ({ message, field, help, code, exit, further }: CliFailure): string => {
  const more = further.length === 0 ? {} : { further };
  return `${JSON.stringify({ error: { code, message, field, help, ...more, exitCode: exitCodeOf(exit), class: exit } })}\n`;
};
