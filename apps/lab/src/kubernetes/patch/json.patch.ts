import { isJsonArray, isJsonObject, sameJson, type Json, type JsonObject } from '../objects/json.js';

/** A patch that cannot be applied to this document, because it is malformed, a path is missing, or a test fails. */
export class PatchRefused extends Error {}

/** RFC 6902. */
export const applyJsonPatch = (document: Json, patch: unknown): Json => {
  if (!isJsonArray(patch)) throw new PatchRefused('a JSON patch is a list of operations');
  return patch.reduce<Json>((at, operation) => applyOperation(at, operation), document);
};

const applyOperation = (document: Json, operation: Json): Json => {
  if (!isJsonObject(operation)) throw new PatchRefused('an operation of a JSON patch is an object');
  const path = pointer(operation['path']);
  switch (String(operation['op'])) {
    case 'add':
      return add(document, path, valueOf(operation));
    case 'remove':
      read(document, path);
      return remove(document, path);
    case 'replace':
      read(document, path);
      return path.length === 0 ? valueOf(operation) : add(remove(document, path), path, valueOf(operation));
    case 'move': {
      const from = pointer(operation['from']);
      const value = read(document, from);
      return add(remove(document, from), path, value);
    }
    case 'copy':
      return add(document, path, read(document, pointer(operation['from'])));
    case 'test':
      if (!sameJson(read(document, path), valueOf(operation))) {
        throw new PatchRefused(`testing value ${String(operation['path'])} failed`);
      }
      return document;
  }
  throw new PatchRefused(`unknown operation ${String(operation['op'])}`);
};

const valueOf = (operation: JsonObject): Json => {
  const value = operation['value'];
  if (value === undefined) throw new PatchRefused(`operation ${String(operation['op'])} has no value`);
  return value;
};

const pointer = (text: Json | undefined): readonly string[] => {
  if (typeof text !== 'string' || (text !== '' && !text.startsWith('/')))
    throw new PatchRefused(`not a JSON pointer: ${String(text)}`);
  return text
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
};

/** Own members only: every object inherits a `constructor`. */
const memberOf = (object: JsonObject, key: string): Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;

const read = (document: Json, path: readonly string[]): Json =>
  path.reduce<Json>((at, key) => {
    const next = isJsonArray(at) ? at[indexOf(key, at.length - 1)] : isJsonObject(at) ? memberOf(at, key) : undefined;
    if (next === undefined) throw new PatchRefused(`the path /${path.join('/')} does not exist`);
    return next;
  }, document);

const add = (document: Json, path: readonly string[], value: Json): Json => {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (isJsonArray(document)) {
    if (rest.length > 0) return replaceItem(document, key, (item) => add(item, rest, value));
    return document.toSpliced(key === '-' ? document.length : indexOf(key, document.length), 0, value);
  }
  if (!isJsonObject(document)) throw new PatchRefused(`the path /${path.join('/')} does not exist`);
  if (rest.length === 0) return { ...document, [key]: value };
  const child = memberOf(document, key);
  if (child === undefined) throw new PatchRefused(`the path /${path.join('/')} does not exist`);
  return { ...document, [key]: add(child, rest, value) };
};

const remove = (document: Json, path: readonly string[]): Json => {
  const [key, ...rest] = path;
  if (key === undefined) return null;
  if (isJsonArray(document)) {
    if (rest.length > 0) return replaceItem(document, key, (item) => remove(item, rest));
    return document.toSpliced(indexOf(key, document.length - 1), 1);
  }
  if (!isJsonObject(document)) throw new PatchRefused(`the path /${path.join('/')} does not exist`);
  const { [key]: child, ...others } = document;
  return rest.length === 0 || child === undefined ? others : { ...document, [key]: remove(child, rest) };
};

const replaceItem = (list: readonly Json[], key: string, change: (item: Json) => Json): Json => {
  const index = indexOf(key, list.length - 1);
  return list.map((item, at) => (at === index ? change(item) : item));
};

const indexOf = (key: string, max: number): number => {
  const index = /^(0|[1-9][0-9]*)$/.test(key) ? Number(key) : Number.NaN;
  if (!(index <= max)) throw new PatchRefused(`index ${key} is outside the list`);
  return index;
};
