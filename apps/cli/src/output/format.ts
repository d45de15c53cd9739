import { stringify } from 'yaml';
import type { ExitClass } from '../exit-codes.js';
import { tableText, type Table } from './table.js';

export const FORMATS = ['table', 'json', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];
export const DEFAULT_FORMAT: Format = 'table';

/** One answer in all its forms. */
export interface Answer {
  /** For programs: json and yaml print it whole. */
  readonly data: unknown;
  /** For people: a table, or text of its own. */
  readonly table: Table | string;
  readonly names: readonly string[];
  /** Absent: ok. The answer says why. */
  readonly exit?: ExitClass | number;
}

/** The answer as text that ends with a newline, or as nothing. */
export const answerText = (answer: Answer, format: Format): string => {
  switch (format) {
    case 'table':
      return endLine(typeof answer.table === 'string' ? answer.table : tableText(answer.table));
    case 'json':
      return `${JSON.stringify(answer.data, undefined, 2)}\n`;
    case 'yaml':
      return stringify(answer.data, { aliasDuplicateObjects: false });
    case 'name':
      return endLine(answer.names.join('\n'));
  }
};

const endLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
