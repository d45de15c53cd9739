import { stringify } from 'yaml';
import type { ExitClass } from '../exit-codes.js';
import { tableText, type Table } from './table.js';

export const FORMATS = ['table', 'json', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];
export const DEFAULT_FORMAT: Format = 'table';

/** Text output: a table, a text, or a text that depends on the number of columns. */
export type Shown = Table | string | ((columns: number) => string);

/** An answer in all output formats. */
export interface CommandOutput {
  /** The complete data, for json and yaml. */
  readonly data: unknown;
  readonly table: Shown;
  readonly names: readonly string[];
  /** Default: ok. The printed answer contains the reason. */
  readonly exit?: ExitClass | number;
}

/** The answer as text that ends with a newline, or an empty text. */
export const answerText = (answer: CommandOutput, format: Format, columns = Number.POSITIVE_INFINITY): string => {
  switch (format) {
    case 'table':
      return endLine(shownText(answer.table, columns));
    case 'json':
      return `${JSON.stringify(answer.data, undefined, 2)}\n`;
    case 'yaml':
      return stringify(answer.data, { aliasDuplicateObjects: false });
    case 'name':
      return endLine(answer.names.join('\n'));
  }
};

/** The text output, wrapped to the number of columns where possible. */
export const shownText = (shown: Shown, columns: number): string => {
  if (typeof shown === 'string') return shown;
  return typeof shown === 'function' ? shown(columns) : tableText(shown, columns);
};

const endLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
