import type { Message } from 'protobufjs/light.js';
import type { Json, JsonObject } from '../objects/json.js';
import { messageSchema, schemaName, type FieldSchema } from './message.schema.js';
import { fieldsOf, protobufType } from './protobuf.types.js';

/** Input that is not a message of the expected type. */
export class ProtobufRefused extends Error {}

/** Kubernetes' protobuf bodies begin with these four bytes, followed by a runtime.Unknown. */
const MAGIC = Buffer.from('k8s\0');

/** A decoded message. Fields that are present in the bytes are its own properties. */
type Decoded = Message & Readonly<Record<string, unknown>>;

/**
 * Decodes a Kubernetes object from `application/vnd.kubernetes.protobuf`. Newer clients send the built-in types in this
 * format, whatever the server prefers.
 * @throws {ProtobufRefused} for invalid bytes and for types that are not in the schema.
 */
export const decodeKubernetesProtobuf = (bytes: Buffer): JsonObject => {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw new ProtobufRefused('the body does not begin as a Kubernetes protobuf');
  const { typeMeta, raw } = decoded('runtime.Unknown', bytes.subarray(MAGIC.length)) as unknown as {
    readonly typeMeta: { readonly apiVersion: string; readonly kind: string } | null;
    readonly raw: Uint8Array;
  };
  const { apiVersion, kind } = typeMeta ?? { apiVersion: '', kind: '' };
  // DeleteOptions and the like are sent under the group of the request, but have only one schema.
  const name =
    messageSchema(schemaName(apiVersion, kind)) === undefined ? `meta.v1.${kind}` : schemaName(apiVersion, kind);
  if (messageSchema(name) === undefined) throw new ProtobufRefused(`${apiVersion} ${kind} is not known`);
  return { apiVersion, kind, ...membersOf(name, decoded(name, raw)) };
};

const decoded = (name: string, bytes: Uint8Array): Decoded => {
  const type = protobufType(name);
  try {
    return type.decode(bytes) as Decoded;
  } catch (error) {
    throw new ProtobufRefused(`the body is not a ${name}: ${String(error)}`);
  }
};

/** Fields that are not in the schema belong to a newer version; the API server drops them too. */
const membersOf = (name: string, message: Decoded): JsonObject => {
  const members: Record<string, Json> = {};
  for (const field of fieldsOf(name)) {
    if (Object.hasOwn(message, field.name)) put(members, field, message[field.name]);
  }
  return members;
};

const put = (members: Record<string, Json>, field: FieldSchema, value: unknown): void => {
  if (field.shape === 'map') {
    const entries = Object.entries(value as Record<string, unknown>);
    if (entries.length > 0)
      members[field.name] = Object.fromEntries(entries.map(([key, item]) => [key, jsonOf(field.type, item)]));
    return;
  }
  if (field.shape === 'list') {
    const items = value as readonly unknown[];
    if (items.length > 0) members[field.name] = items.map((item) => jsonOf(field.type, item));
    return;
  }
  const json = jsonOf(field.type, value);
  if (field.inline) Object.assign(members, json);
  else if (json !== null && !(field.omitsZero && (json === 0 || json === false || json === ''))) {
    members[field.name] = json;
  }
};

/** Types whose JSON form is not an object of their fields. */
const SPECIAL: Readonly<Record<string, (message: Decoded) => Json>> = {
  'api.resource.Quantity': ({ string }) => string as string,
  'util.intstr.IntOrString': ({ type, intVal, strVal }) => (Number(type) === 1 ? (strVal as string) : Number(intVal)),
  'meta.v1.Time': (message) => time(message, /\.\d{3}Z$/, 'Z'),
  'meta.v1.MicroTime': (message) => time(message, /Z$/, '000Z'),
  'meta.v1.Duration': ({ duration }) => `${Number(duration) / 1e9}s`,
  'meta.v1.FieldsV1': ({ Raw }) => rawJson(Raw as Uint8Array),
  'runtime.RawExtension': ({ raw }) => rawJson(raw as Uint8Array),
  'authentication.v1.ExtraValue': ({ items }) => items as readonly string[],
  'authorization.v1.ExtraValue': ({ items }) => items as readonly string[],
  'certificates.v1.ExtraValue': ({ items }) => items as readonly string[],
};

/** An empty time is Go's zero time, which is null in JSON. */
const time = (message: Decoded, fraction: RegExp, replacement: string): Json => {
  if (Object.keys(message).length === 0) return null;
  const milliseconds = Number(message['seconds']) * 1000 + Math.floor(Number(message['nanos']) / 1e6);
  return new Date(milliseconds).toISOString().replace(fraction, replacement);
};

const rawJson = (bytes: Uint8Array): Json => {
  const raw = Buffer.from(bytes).toString('utf8');
  try {
    return raw === '' ? null : (JSON.parse(raw) as Json);
  } catch (error) {
    throw new ProtobufRefused(`an embedded object is not JSON: ${String(error)}`);
  }
};

const jsonOf = (type: string, value: unknown): Json => {
  switch (type) {
    case 'string':
    case 'bool':
    case 'int32':
    case 'double':
      return value as string | boolean | number;
    case 'bytes':
      return Buffer.from(value as Uint8Array).toString('base64');
    case 'int64':
      return Number(value);
  }
  const special = SPECIAL[type];
  return special === undefined ? membersOf(type, value as Decoded) : special(value as Decoded);
};
