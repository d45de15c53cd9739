import type { Json, JsonObject } from '../objects/json.js';
import { messageSchema, schemaName, type FieldSchema } from './message.schema.js';

/** Bytes that are not a message of the expected type. */
export class ProtobufRefused extends Error {}

/** Kubernetes' protobuf bodies begin with these four bytes, then comes a runtime.Unknown. */
const MAGIC = Buffer.from('k8s\0');

interface WireField {
  readonly number: number;
  readonly value: bigint | Buffer;
}

/**
 * A Kubernetes object in `application/vnd.kubernetes.protobuf` as JSON. Newer clients send the built-in types so, whatever the server prefers.
 * @throws {ProtobufRefused} for bytes that cannot be read and types that are not known.
 */
export const decodeKubernetesProtobuf = (bytes: Buffer): JsonObject => {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw new ProtobufRefused('the body does not begin as a Kubernetes protobuf');
  const unknown = wireFields(bytes.subarray(MAGIC.length));
  const typeMeta = wireFields(bytesOf(unknown, 1));
  const [apiVersion, kind] = [bytesOf(typeMeta, 1).toString('utf8'), bytesOf(typeMeta, 2).toString('utf8')];
  // DeleteOptions and their like are sent under the group of the request; there is only one schema for them.
  const name =
    messageSchema(schemaName(apiVersion, kind)) === undefined ? `meta.v1.${kind}` : schemaName(apiVersion, kind);
  if (messageSchema(name) === undefined) throw new ProtobufRefused(`${apiVersion} ${kind} is not known`);
  return { apiVersion, kind, ...decodeMessage(name, bytesOf(unknown, 2)) };
};

const bytesOf = (fields: readonly WireField[], number: number): Buffer => {
  const field = fields.findLast((candidate) => candidate.number === number);
  return Buffer.isBuffer(field?.value) ? field.value : Buffer.alloc(0);
};

const wireFields = (bytes: Buffer): readonly WireField[] => {
  const fields: WireField[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = varint(bytes, at);
    const number = Number(tag.value >> 3n);
    const [value, next] = wireValue(bytes, tag.next, Number(tag.value & 7n));
    fields.push({ number, value });
    at = next;
  }
  return fields;
};

const wireValue = (bytes: Buffer, at: number, wireType: number): readonly [bigint | Buffer, number] => {
  switch (wireType) {
    case 0: {
      const { value, next } = varint(bytes, at);
      return [value, next];
    }
    case 1:
      return [within(bytes, at, 8), at + 8];
    case 2: {
      const { value, next } = varint(bytes, at);
      return [within(bytes, next, Number(value)), next + Number(value)];
    }
    case 5:
      return [within(bytes, at, 4), at + 4];
  }
  throw new ProtobufRefused(`unknown wire type ${wireType}`);
};

const within = (bytes: Buffer, at: number, length: number): Buffer => {
  if (at + length > bytes.length) throw new ProtobufRefused('the body ends in the middle of a field');
  return bytes.subarray(at, at + length);
};

const varint = (bytes: Buffer, start: number): { readonly value: bigint; readonly next: number } => {
  let value = 0n;
  for (let index = 0; index < 10; index += 1) {
    const byte = bytes[start + index];
    if (byte === undefined) throw new ProtobufRefused('the body ends in the middle of a number');
    value |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), next: start + index + 1 };
  }
  throw new ProtobufRefused('a number is too long');
};

const decodeMessage = (name: string, bytes: Buffer): JsonObject => {
  const fields = messageSchema(name)?.fields ?? [];
  const decoded: Record<string, Json> = {};
  for (const { number, value } of wireFields(bytes)) {
    // A field that the schema does not know is of a newer version: the API server drops it too.
    const field = fields.find((candidate) => candidate.number === number);
    if (field !== undefined) put(decoded, field, value);
  }
  return decoded;
};

const put = (target: Record<string, Json>, field: FieldSchema, value: bigint | Buffer): void => {
  if (field.shape === 'map') {
    const [key, item] = mapEntry(field, value);
    target[field.name] = { ...(target[field.name] as JsonObject | undefined), [key]: item };
    return;
  }
  const decoded = decodeValue(field.type, value);
  if (field.shape === 'list') {
    target[field.name] = [...((target[field.name] as readonly Json[] | undefined) ?? []), decoded];
  } else if (field.inline) {
    Object.assign(target, decoded);
  } else if (decoded !== null && !(field.omitsZero && (decoded === 0 || decoded === false || decoded === ''))) {
    target[field.name] = decoded;
  }
};

const mapEntry = (field: FieldSchema, value: bigint | Buffer): readonly [string, Json] => {
  const entry = wireFields(asBytes(value));
  const item = entry.findLast(({ number }) => number === 2)?.value ?? Buffer.alloc(0);
  return [bytesOf(entry, 1).toString('utf8'), decodeValue(field.type, item)];
};

const asBytes = (value: bigint | Buffer): Buffer => {
  if (!Buffer.isBuffer(value)) throw new ProtobufRefused('a number stands where bytes are expected');
  return value;
};

/** Types whose JSON form is not an object of their fields. */
const SPECIAL: Readonly<Record<string, (bytes: Buffer) => Json>> = {
  'api.resource.Quantity': (bytes) => bytesOf(wireFields(bytes), 1).toString('utf8'),
  'util.intstr.IntOrString': (bytes) => {
    const fields = wireFields(bytes);
    const isText = numberOf(fields, 1) === 1;
    return isText ? bytesOf(fields, 3).toString('utf8') : numberOf(fields, 2);
  },
  'meta.v1.Time': (bytes) => time(bytes, /\.\d{3}Z$/, 'Z'),
  'meta.v1.MicroTime': (bytes) => time(bytes, /Z$/, '000Z'),
  'meta.v1.Duration': (bytes) => `${Number(numberOf(wireFields(bytes), 1)) / 1e9}s`,
  'meta.v1.FieldsV1': (bytes) => rawJson(bytes),
  'runtime.RawExtension': (bytes) => rawJson(bytes),
  'authentication.v1.ExtraValue': (bytes) => texts(bytes),
  'authorization.v1.ExtraValue': (bytes) => texts(bytes),
  'certificates.v1.ExtraValue': (bytes) => texts(bytes),
};

const numberOf = (fields: readonly WireField[], number: number): number => {
  const value = fields.findLast((field) => field.number === number)?.value ?? 0n;
  return typeof value === 'bigint' ? Number(BigInt.asIntN(64, value)) : 0;
};

/** An empty time is Go's zero time, which JSON shows as null. */
const time = (bytes: Buffer, fraction: RegExp, replacement: string): Json => {
  if (bytes.length === 0) return null;
  const fields = wireFields(bytes);
  return new Date(numberOf(fields, 1) * 1000 + Math.floor(numberOf(fields, 2) / 1e6))
    .toISOString()
    .replace(fraction, replacement);
};

const rawJson = (bytes: Buffer): Json => {
  const raw = bytesOf(wireFields(bytes), 1).toString('utf8');
  try {
    return raw === '' ? null : (JSON.parse(raw) as Json);
  } catch (error) {
    throw new ProtobufRefused(`an embedded object is not JSON: ${String(error)}`);
  }
};

const texts = (bytes: Buffer): Json =>
  wireFields(bytes).map(({ value }) => (Buffer.isBuffer(value) ? value.toString('utf8') : String(value)));

const decodeValue = (type: string, value: bigint | Buffer): Json => {
  switch (type) {
    case 'string':
      return asBytes(value).toString('utf8');
    case 'bytes':
      return asBytes(value).toString('base64');
    case 'bool':
      return value !== 0n;
    case 'int32':
    case 'int64':
      return typeof value === 'bigint' ? Number(BigInt.asIntN(64, value)) : 0;
    case 'double':
      return asBytes(value).readDoubleLE(0);
  }
  const special = SPECIAL[type];
  return special === undefined ? decodeMessage(type, asBytes(value)) : special(asBytes(value));
};
