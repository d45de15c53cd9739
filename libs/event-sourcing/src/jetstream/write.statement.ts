import { createHash } from 'node:crypto';

/** A statement; each of its parameters has an explicit type, because it may become part of a larger one. */
export interface Write {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The form for `pg`. With a name, each connection parses it once. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
}

export const statementOf = ({ text, values }: Write): Statement => ({ text, values: [...values] });

/** Combined statements have many variants, and a connection keeps each prepared one for its lifetime. */
const KINDS_REMEMBERED_MAX = 48;

const names = new Map<string, string>();

/** undefined: there are too many variants already. */
const nameOf = (text: string): string | undefined => {
  const known = names.get(text);
  if (known !== undefined || names.size >= KINDS_REMEMBERED_MAX) return known;
  const name = `write-${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  names.set(text, name);
  return name;
};

/** A frequently used statement: each connection parses and plans it once. */
export const remembered = (write: Write): Statement => {
  const name = nameOf(write.text);
  return { ...(name === undefined ? {} : { name }), ...statementOf(write) };
};

/** The parts, with their parameters renumbered. */
const joined = (parts: readonly Write[]): Write => {
  const values: unknown[] = [];
  const texts = parts.map((part, index) => {
    const before = values.length;
    values.push(...part.values);
    const text = part.text.replace(/\$(\d+)/g, (_all, number: string) => `$${Number(number) + before}`);
    return `w${index} as (${text}${index === 0 ? ' returning 1' : ''})`;
  });
  return { text: `with ${texts.join(', ')}`, values };
};

/**
 * One statement, which is a transaction by itself: all writes, or none if the first does not change this many rows. In
 * that case a division by zero fails the statement. No two writes may change the same row: they do not see each other.
 */
export const allOrNothing = (first: Write, count: number, others: readonly Write[]): Statement => {
  const { text, values } = joined([first, ...others]);
  const whole = `${text} select 1 / (count(*) = $${values.length + 1}::bigint)::integer from w0`;
  return remembered({ text: whole, values: [...values, count] });
};

const DIVISION_BY_ZERO = '22012';

export const isWrongCount = (error: unknown): boolean =>
  error instanceof Error && (error as { readonly code?: unknown }).code === DIVISION_BY_ZERO;
