import protobuf from 'protobufjs/light.js';
import { messageSchema, type FieldSchema } from './message.schema.js';

/** Messages of request bodies that are not in the schema. */
const OTHERS: Readonly<Record<string, readonly FieldSchema[]>> = {
  'runtime.Unknown': [field('typeMeta', 1, 'runtime.TypeMeta'), field('raw', 2, 'bytes')],
  'runtime.TypeMeta': [field('apiVersion', 1, 'string'), field('kind', 2, 'string')],
  'meta.v1.Duration': [field('duration', 1, 'int64')],
};

const SCALARS: ReadonlySet<string> = new Set(['string', 'bytes', 'bool', 'int32', 'int64', 'double']);

const root = new protobuf.Root();

function field(name: string, number: number, type: string): FieldSchema {
  return { name, number, type, shape: 'one', inline: false, omitsZero: false };
}

export const fieldsOf = (name: string): readonly FieldSchema[] => messageSchema(name)?.fields ?? OTHERS[name] ?? [];

/** All messages are in the root, so dots are replaced: they would denote a namespace. */
const flat = (name: string): string => (SCALARS.has(name) ? name : name.replaceAll('.', '_'));

/**
 * The message as a protobufjs type, with all types that it refers to. A type that is not in the schema has no fields.
 */
export const protobufType = (name: string): protobuf.Type => {
  const known = root.get(flat(name));
  if (known instanceof protobuf.Type) return known;
  const type = new protobuf.Type(flat(name));
  root.add(type);
  for (const one of fieldsOf(name)) {
    type.add(
      one.shape === 'map'
        ? new protobuf.MapField(one.name, one.number, 'string', flat(one.type))
        : new protobuf.Field(one.name, one.number, flat(one.type), one.shape === 'list' ? 'repeated' : undefined),
    );
    if (!SCALARS.has(one.type)) protobufType(one.type);
  }
  return type;
};
