import { isJsonArray, isJsonObject, type Json, type JsonObject } from '../objects/json.js';
import { messageSchema, type FieldSchema, type MessageSchema } from './message.schema.js';

export interface Pruned {
  readonly object: JsonObject;
  /** The paths of dropped fields in the API server's format: `spec.template.spec.containers[0].imag`. */
  readonly unknown: readonly string[];
}

/**
 * Removes fields that the type does not have, as the API server does. Types without a schema are returned unchanged.
 */
export const pruneUnknown = (name: string, object: JsonObject): Pruned => {
  const schema = messageSchema(name);
  const unknown: string[] = [];
  if (schema === undefined) return { object, unknown };
  const { apiVersion, kind, ...content } = object;
  const pruned = pruneMessage(schema, content, { path: '', unknown });
  return {
    object: { ...(apiVersion === undefined ? {} : { apiVersion }), ...(kind === undefined ? {} : { kind }), ...pruned },
    unknown,
  };
};

interface Walk {
  readonly path: string;
  readonly unknown: string[];
}

const pruneMessage = (schema: MessageSchema, value: JsonObject, walk: Walk): JsonObject => {
  const fields = membersOf(schema);
  const kept: Record<string, Json> = {};
  for (const [key, member] of Object.entries(value)) {
    const path = walk.path === '' ? key : `${walk.path}.${key}`;
    const field = fields.get(key);
    if (field === undefined) walk.unknown.push(path);
    else kept[key] = pruneField(field, member, { ...walk, path });
  }
  return kept;
};

const members = new Map<string, ReadonlyMap<string, FieldSchema>>();

/** The JSON members of a message: its own fields and those of inlined messages. */
const membersOf = (schema: MessageSchema): ReadonlyMap<string, FieldSchema> => {
  const known = members.get(schema.name);
  if (known !== undefined) return known;
  const found = new Map(
    schema.fields.flatMap((field): readonly (readonly [string, FieldSchema])[] => {
      const embedded = field.inline ? messageSchema(field.type) : undefined;
      return embedded === undefined ? [[field.name, field]] : [...membersOf(embedded)];
    }),
  );
  members.set(schema.name, found);
  return found;
};

/** Types with their own JSON format, in which no field can be unknown. */
const OPAQUE = [
  'api.',
  'util.',
  'runtime.',
  'meta.v1.Time',
  'meta.v1.MicroTime',
  'meta.v1.FieldsV1',
  'meta.v1.Duration',
];

const pruneField = (field: FieldSchema, value: Json, walk: Walk): Json => {
  const schema = OPAQUE.some((prefix) => field.type.startsWith(prefix)) ? undefined : messageSchema(field.type);
  if (schema === undefined || field.type.endsWith('.ExtraValue')) return value;
  const prune = (item: Json, path: string): Json =>
    isJsonObject(item) ? pruneMessage(schema, item, { ...walk, path }) : item;
  switch (field.shape) {
    case 'one':
      return prune(value, walk.path);
    case 'list':
      return isJsonArray(value) ? value.map((item, index) => prune(item, `${walk.path}[${index}]`)) : value;
    case 'map':
      return isJsonObject(value)
        ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, prune(item, `${walk.path}.${key}`)]))
        : value;
  }
};
