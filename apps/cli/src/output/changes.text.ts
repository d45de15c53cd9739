import type { ChangedField } from '@fairlead/domain';
import type { Colors } from 'picocolors/types.js';
import { wrappedLines } from './wrap.js';

interface TextOptions {
  readonly columns: number;
  readonly colors: Colors;
}

/** Added, removed or changed. */
export type Sign = '+' | '-' | '~';

/** A line with its sign; its continuation lines have the same colour. */
export const signed = (sign: Sign, text: string, { columns, colors }: TextOptions): readonly string[] => {
  const paint = { '+': colors.green, '-': colors.red, '~': colors.yellow }[sign];
  return wrappedLines([`${sign} ${text}`], columns).map(paint);
};

/** Fields with their old and new values. */
export const changeLines = (changes: readonly ChangedField[], options: TextOptions): readonly string[] =>
  changes.flatMap(({ field, before, after }) => {
    if (before === null) return signed('+', `${field}: ${after}`, options);
    if (after === null) return signed('-', `${field}: ${before}`, options);
    return signed('~', `${field}: ${before} → ${after}`, options);
  });
