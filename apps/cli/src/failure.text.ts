import type { Colors } from 'picocolors/types.js';
import { exitCodeOf } from './exit-codes.js';
import type { CliFailure } from './failures.js';

/** A failure for a person: the sentence, where it is, what can be done, and the code to search for. */
export const failureText = ({ message, field, help, code, exit }: CliFailure, colors: Colors): string => {
  const hasCode = !code.startsWith('cli.');
  return [
    `${colors.red(exit === 'interrupted' ? 'Interrupted:' : 'Error:')} ${message}${hasCode ? colors.dim(` [${code}]`) : ''}`,
    ...(field === undefined ? [] : [`  at ${field}`]),
    ...(help === undefined ? [] : [`  ${help}`]),
    '',
  ].join('\n');
};

/** The same for a program. */
export const failureJson = ({ message, field, help, code, exit }: CliFailure): string =>
  `${JSON.stringify({ error: { code, message, field, help, exitCode: exitCodeOf(exit), class: exit } })}\n`;
