import { ParseFailure } from './parse.failure.js';

/** A part of a value: the value at a path of keys and, for a list of objects there, only some fields of each. */
export interface Selection {
  readonly path: readonly string[];
  readonly fields?: readonly string[];
  /** Longer lists are truncated. */
  readonly itemsMax?: number;
}

const at = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce((found, key, index) => {
    if (found === undefined) throw new ParseFailure('malformed', `it has no ${path.slice(0, index).join('.')}`);
    return at(found, key);
  }, value);

/**
 * undefined: nothing is there. Items of the list that are not objects are unchanged.
 * @throws ParseFailure: a parent on the path is missing
 */
export const select = (value: unknown, { path, fields, itemsMax }: Selection): unknown => {
  const found = valueAt(value, path);
  if (!Array.isArray(found)) return found;
  const items: readonly unknown[] = itemsMax === undefined ? found : found.slice(0, itemsMax);
  if (fields === undefined) return items;
  const only = (item: unknown): unknown =>
    typeof item === 'object' && item !== null
      ? Object.fromEntries(fields.map((field) => [field, at(item, field)] as const))
      : item;
  return items.map(only);
};
