import { isJsonArray, isJsonObject, sameJson, type Json, type JsonObject } from '../objects/json.js';
import type { ManagedFieldsEntry } from '../objects/kube.object.js';
import { fieldPathsOf, fieldsV1, itemStep, pathName, pathsOfFields, pathText, type FieldPath } from './field.set.js';
import { applyKeys, isPrimitiveSet } from './merge.keys.js';

export interface ApplyRequest {
  readonly manager: string;
  readonly force: boolean;
  readonly apiVersion: string;
  readonly time: string;
  readonly entries: readonly ManagedFieldsEntry[];
}

export interface ApplyConflict {
  readonly manager: string;
  readonly field: string;
}

export type ApplyResult =
  | { readonly outcome: 'applied'; readonly object: JsonObject; readonly entries: readonly ManagedFieldsEntry[] }
  | { readonly outcome: 'conflict'; readonly conflicts: readonly ApplyConflict[] };

/**
 * Server-side apply: merges the configuration; removes fields that this manager applied before and no longer applies,
 * unless another applier has them; and reports a conflict if another applier has a different value. Only appliers own
 * fields here: plain updates are not tracked.
 */
export const applyConfiguration = (current: JsonObject, config: JsonObject, request: ApplyRequest): ApplyResult => {
  const stated = fieldPathsOf(config);
  const others = request.entries.filter((entry) => entry.operation === 'Apply' && entry.manager !== request.manager);
  const conflicts = conflictsOf(current, config, { stated, others });
  if (conflicts.length > 0 && !request.force) return { outcome: 'conflict', conflicts };

  const kept = new Set([...stated, ...others.flatMap(({ fieldsV1: fields }) => pathsOfFields(fields))].map(pathText));
  const mine = request.entries.find((entry) => entry.operation === 'Apply' && entry.manager === request.manager);
  const dropped = pathsOfFields(mine?.fieldsV1).filter((path) => !kept.has(pathText(path)));
  const trimmed = dropped.reduce<Json>((object, path) => removePath(object, path, []), current);
  const object = mergeApplied(trimmed, config, []);
  if (!isJsonObject(object)) throw new Error('an applied configuration is an object');
  return { outcome: 'applied', object, entries: nextEntries(request, { stated, others, conflicts }) };
};

interface Owned {
  readonly stated: readonly FieldPath[];
  readonly others: readonly ManagedFieldsEntry[];
}

const conflictsOf = (current: JsonObject, config: JsonObject, { stated, others }: Owned): readonly ApplyConflict[] => {
  const desired = new Set(stated.map(pathText));
  return others.flatMap(({ manager, fieldsV1: fields }) =>
    pathsOfFields(fields)
      .filter((path) => path.at(-1) !== '.' && desired.has(pathText(path)))
      .filter((path) => !sameJson(valueAtPath(current, path), valueAtPath(config, path)))
      .map((path) => ({ manager, field: pathName(path) })),
  );
};

const nextEntries = (
  request: ApplyRequest,
  { stated, others, conflicts }: Owned & { readonly conflicts: readonly ApplyConflict[] },
): readonly ManagedFieldsEntry[] => {
  const taken = new Set(conflicts.map(({ manager, field }) => `${manager} ${field}`));
  const left = others.map((entry) => ({
    ...entry,
    fieldsV1: fieldsV1(
      pathsOfFields(entry.fieldsV1).filter((path) => !taken.has(`${entry.manager} ${pathName(path)}`)),
    ),
  }));
  const updates = request.entries.filter(({ operation }) => operation === 'Update');
  const fields = fieldsV1(stated);
  const previous = request.entries.find((entry) => entry.operation === 'Apply' && entry.manager === request.manager);
  const unchanged = previous !== undefined && sameJson(previous.fieldsV1, fields);
  return [
    ...updates,
    ...left,
    {
      manager: request.manager,
      operation: 'Apply',
      apiVersion: request.apiVersion,
      // Applying the same configuration again must not be a write, so the time changes only with the fields.
      time: unchanged ? previous.time : request.time,
      fieldsType: 'FieldsV1',
      fieldsV1: fields,
    },
  ];
};

const mergeApplied = (target: Json | undefined, config: Json, names: readonly string[]): Json => {
  if (isJsonObject(config)) {
    const merged: Record<string, Json> = isJsonObject(target) ? { ...target } : {};
    for (const [key, value] of Object.entries(config)) {
      if (value === null) continue;
      merged[key] = mergeApplied(merged[key], value, [...names, key]);
    }
    return merged;
  }
  if (!isJsonArray(config) || !isJsonArray(target)) return config;
  const keys = applyKeys(names);
  if (keys !== undefined) return mergeItems(target, config.filter(isJsonObject), { keys, names });
  return isPrimitiveSet(names)
    ? [...target, ...config.filter((item) => !target.some((other) => sameJson(item, other)))]
    : config;
};

const mergeItems = (
  target: readonly Json[],
  config: readonly JsonObject[],
  { keys, names }: { readonly keys: readonly string[]; readonly names: readonly string[] },
): Json =>
  config.reduce<readonly Json[]>((list, item) => {
    const same = (other: Json): boolean => isJsonObject(other) && sameItem(other, item, keys);
    return list.some(same)
      ? list.map((other) => (same(other) ? mergeApplied(other, item, names) : other))
      : [...list, mergeApplied(undefined, item, names)];
  }, target);

/** A key that one side omits (e.g. a port's default protocol) does not distinguish items. */
const sameItem = (a: JsonObject, b: JsonObject, keys: readonly string[]): boolean =>
  keys.every((key, index) => (index > 0 && (a[key] === undefined || b[key] === undefined)) || sameJson(a[key], b[key]));

const valueAtPath = (value: Json | undefined, path: FieldPath): Json | undefined =>
  path.reduce<Json | undefined>((at, step) => {
    if (step === '.') return at;
    if (step.startsWith('f:')) return isJsonObject(at) ? at[step.slice(2)] : undefined;
    return isJsonArray(at) ? at.find((item) => isStep(item, step)) : undefined;
  }, value);

const isStep = (item: Json, step: string): boolean => {
  if (step.startsWith('v:')) return JSON.stringify(item) === step.slice(2);
  const keys = JSON.parse(step.slice(2)) as JsonObject;
  return isJsonObject(item) && itemStep(item, Object.keys(keys)) === step;
};

const removePath = (value: Json, path: FieldPath, names: readonly string[]): Json => {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (step.startsWith('f:') && isJsonObject(value)) {
    const key = step.slice(2);
    const { [key]: child, ...others } = value;
    if (child === undefined) return value;
    if (rest.length === 0) return others;
    const left = removePath(child, rest, [...names, key]);
    return isEmpty(left) && !isEmpty(child) ? others : { ...value, [key]: left };
  }
  if (!isJsonArray(value)) return value;
  // "." is the item itself: it is removed by the manager that applied it.
  if (rest.length === 0 || rest[0] === '.') return value.filter((item) => !isStep(item, step));
  return value.map((item) => (isStep(item, step) ? removePath(item, rest, names) : item));
};

const isEmpty = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
