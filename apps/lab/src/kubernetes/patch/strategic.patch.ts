import { isJsonArray, isJsonObject, sameJson, type Json, type JsonObject } from '../objects/json.js';
import { PatchRefused } from './json.patch.js';
import { isPrimitiveSet, strategicMergeKey } from './merge.keys.js';

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const SET_ORDER = '$setElementOrder/';
const DELETE_FROM_LIST = '$deleteFromPrimitiveList/';

/**
 * Kubernetes' strategic merge patch: like a merge patch, but lists of the built-in types merge by key. Directives: `$patch: delete | replace |
 * merge`, `$retainKeys`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`.
 */
export const applyStrategicPatch = (target: Json, patch: unknown): Json => {
  if (!isJsonObject(patch)) throw new PatchRefused('a strategic merge patch is an object');
  return mergeObject(isJsonObject(target) ? target : {}, patch, []);
};

const mergeObject = (target: JsonObject, patch: JsonObject, path: readonly string[]): JsonObject => {
  const directive = patch[DIRECTIVE];
  if (directive === 'replace') return withoutDirectives(patch);
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge')
    throw new PatchRefused(`unknown patch directive ${String(directive)}`);

  const merged: Record<string, Json> = { ...retained(target, patch[RETAIN_KEYS]) };
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(DELETE_FROM_LIST)) deleteFromList(merged, key.slice(DELETE_FROM_LIST.length), value);
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) continue;
    if (value === null) delete merged[key];
    else merged[key] = mergeValue(merged[key], value, [...path, key]);
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(SET_ORDER)) setOrder(merged, key.slice(SET_ORDER.length), { order: value, path });
  }
  return merged;
};

const mergeValue = (target: Json | undefined, patch: Json, path: readonly string[]): Json => {
  if (isJsonObject(patch)) return mergeObject(isJsonObject(target) ? target : {}, patch, path);
  if (!isJsonArray(patch)) return patch;
  const current = isJsonArray(target) ? target : [];
  const key = strategicMergeKey(path);
  if (key !== undefined) return mergeList(current, patch, { key, path });
  if (isPrimitiveSet(path))
    return [...current, ...patch.filter((item) => !current.some((other) => sameJson(item, other)))];
  return patch.map(stripped);
};

const mergeList = (
  target: readonly Json[],
  patch: readonly Json[],
  { key, path }: { readonly key: string; readonly path: readonly string[] },
): Json => {
  const items = patch.filter(isJsonObject);
  if (items.length !== patch.length) return patch;
  if (items.some((item) => item[DIRECTIVE] === 'replace')) {
    return items.filter((item) => item[DIRECTIVE] !== 'replace' || Object.keys(item).length > 1).map(withoutDirectives);
  }
  return items.reduce<readonly Json[]>((list, item) => {
    if (item[key] === undefined)
      throw new PatchRefused(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    const same = (other: Json): boolean => isJsonObject(other) && sameJson(other[key], item[key]);
    if (item[DIRECTIVE] === 'delete') return list.filter((other) => !same(other));
    if (!list.some(same)) return [...list, mergeObject({}, item, path)];
    return list.map((other) => (same(other) && isJsonObject(other) ? mergeObject(other, item, path) : other));
  }, target);
};

const retained = (target: JsonObject, keys: Json | undefined): JsonObject =>
  isJsonArray(keys) ? Object.fromEntries(Object.entries(target).filter(([key]) => keys.includes(key))) : target;

const deleteFromList = (merged: Record<string, Json>, field: string, values: Json): void => {
  const list = merged[field];
  if (!isJsonArray(list) || !isJsonArray(values)) return;
  merged[field] = list.filter((item) => !values.some((value) => sameJson(item, value)));
};

/** Sorts items by the given order; items that only the server has remain behind their predecessor. */
const setOrder = (
  merged: Record<string, Json>,
  field: string,
  { order, path }: { readonly order: Json; readonly path: readonly string[] },
): void => {
  const list = merged[field];
  if (!isJsonArray(list) || !isJsonArray(order)) return;
  const key = strategicMergeKey([...path, field]);
  const identity = (item: Json): Json | undefined => (key !== undefined && isJsonObject(item) ? item[key] : item);
  const rank = (item: Json): number => order.findIndex((entry) => sameJson(identity(entry), identity(item)));
  const ordered = list.filter((item) => rank(item) >= 0).sort((a, b) => rank(a) - rank(b));
  list.forEach((item, index) => {
    if (rank(item) >= 0) return;
    const before = list[index - 1];
    ordered.splice(before === undefined ? 0 : ordered.indexOf(before) + 1, 0, item);
  });
  merged[field] = ordered;
};

const withoutDirectives = (patch: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(patch)
      .filter(([key, value]) => !key.startsWith('$') && value !== null)
      .map(([key, value]) => [key, stripped(value)]),
  );

const stripped = (value: Json): Json => {
  if (isJsonArray(value)) return value.map(stripped);
  return isJsonObject(value) ? withoutDirectives(value) : value;
};
