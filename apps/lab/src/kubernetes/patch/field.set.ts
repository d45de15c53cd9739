import { canonicalJson, isJsonArray, isJsonObject, type Json, type JsonObject } from '../objects/json.js';
import { applyKeys, isPrimitiveSet } from './merge.keys.js';

/**
 * The path of a field: `f:` a member, `k:` a list item by its keys, `v:` an item of a set, `.` the item itself
 * (FieldsV1 notation).
 */
export type FieldPath = readonly string[];

/** Members that no manager owns. */
const UNOWNED = new Set(['apiVersion', 'kind', 'status']);
const UNOWNED_METADATA = new Set([
  'name',
  'namespace',
  'managedFields',
  'resourceVersion',
  'uid',
  'creationTimestamp',
  'generation',
]);

/** The paths of all fields in an applied configuration. */
export const fieldPathsOf = (config: JsonObject): readonly FieldPath[] =>
  Object.entries(config)
    .filter(([key]) => !UNOWNED.has(key))
    .flatMap(([key, value]) =>
      key === 'metadata' && isJsonObject(value)
        ? Object.entries(value)
            .filter(([name]) => !UNOWNED_METADATA.has(name))
            .flatMap(([name, member]) => pathsOf(member, [`f:${key}`, `f:${name}`], [key, name]))
        : pathsOf(value, [`f:${key}`], [key]),
    );

const pathsOf = (value: Json, at: FieldPath, names: readonly string[]): readonly FieldPath[] => {
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([key, member]) => pathsOf(member, [...at, `f:${key}`], [...names, key]));
  }
  if (!isJsonArray(value)) return [at];
  const keys = applyKeys(names);
  if (keys !== undefined) {
    return value.filter(isJsonObject).flatMap((item) => {
      const here = [...at, itemStep(item, keys)];
      return [
        [...here, '.'],
        ...Object.entries(item).flatMap(([key, member]) => pathsOf(member, [...here, `f:${key}`], [...names, key])),
      ];
    });
  }
  return isPrimitiveSet(names) ? value.map((item) => [...at, `v:${JSON.stringify(item)}`]) : [at];
};

/** The path step of a list item, made of the keys that it has. */
export const itemStep = (item: JsonObject, keys: readonly string[]): string =>
  `k:${canonicalJson(Object.fromEntries(keys.filter((key) => item[key] !== undefined).map((key) => [key, item[key]])))}`;

/** Paths as the nested object in `managedFields`. */
export const fieldsV1 = (paths: readonly FieldPath[]): JsonObject => {
  const root: Record<string, unknown> = {};
  for (const path of paths) {
    let at = root;
    for (const step of path) {
      const next = (at[step] ?? {}) as Record<string, unknown>;
      at[step] = next;
      at = next;
    }
  }
  return root as JsonObject;
};

/** The paths of the leaves of a `fieldsV1` object. */
export const pathsOfFields = (fields: unknown, at: FieldPath = []): readonly FieldPath[] => {
  if (!isJsonObject(fields) || Object.keys(fields).length === 0) return at.length === 0 ? [] : [at];
  return Object.entries(fields).flatMap(([step, below]) => pathsOfFields(below, [...at, step]));
};

export const pathText = (path: FieldPath): string => path.join('\u0000');

/** `.spec.containers[name="a"].image`, the format of field names in conflict messages. */
export const pathName = (path: FieldPath): string =>
  path
    .filter((step) => step !== '.')
    .map((step) => {
      if (step.startsWith('f:')) return `.${step.slice(2)}`;
      if (step.startsWith('v:')) return `[=${step.slice(2)}]`;
      const keys = JSON.parse(step.slice(2)) as JsonObject;
      return `[${Object.entries(keys)
        .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
        .join(',')}]`;
    })
    .join('');
