import { stringify } from 'yaml';
import type { ExitClass } from '../exit-codes.js';
import { tableText, type Table } from './table.js';

export const FORMATS = ['table', 'json', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];
export const DEFAULT_FORMAT: Format = 'table';

/** For people: a table, text of its own, or text that is laid out for lines of so many characters. */
export type Shown = Table | string | ((columns: number) => string);

/** One answer in all its forms. */
export interface Answer {
  /** For programs: json and yaml print it whole. */
  readonly data: unknown;
  readonly table: Shown;
  readonly names: readonly string[];
  /** Absent: ok. The answer says why. */
  readonly exit?: ExitClass | number;
}

/** The answer as text that ends with a newline, or as nothing. */
export const answerText = (answer: Answer, format: Format, columns = Number.POSITIVE_INFINITY): string => {
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

/** What people see, in lines of at most so many characters as far as it can be wrapped. */
export const shownText = (shown: Shown, columns: number): string => {
  if (typeof shown === 'string') return shown;
  return typeof shown === 'function' ? shown(columns) : tableText(shown, columns);
};

const endLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
