import { KUBERNETES_MESSAGES } from './kubernetes.messages.js';

export interface FieldSchema {
  readonly name: string;
  readonly number: number;
  /** A scalar (`string`, `int32`, `int64`, `bool`, `bytes`, `double`) or the name of a message. */
  readonly type: string;
  readonly shape: 'one' | 'list' | 'map';
  /** Its members are inlined into the parent. */
  readonly inline: boolean;
  /** Its zero value means that it is absent. */
  readonly omitsZero: boolean;
}

export interface MessageSchema {
  readonly name: string;
  readonly fields: readonly FieldSchema[];
}

const FIELD = /^([\^~]?)(\w+)=(\d+):([*%]?)(\S+)$/;
const LINES = new Map(
  KUBERNETES_MESSAGES.trim()
    .split('\n')
    .map((line) => [line.slice(0, `${line} `.indexOf(' ')), line]),
);
const parsed = new Map<string, MessageSchema>();

/** The fields of a built-in message such as `apps.v1.Deployment`, or undefined for other types. */
export const messageSchema = (name: string): MessageSchema | undefined => {
  const known = parsed.get(name);
  const line = LINES.get(name);
  if (known !== undefined || line === undefined) return known;
  const schema = { name, fields: line.split(' ').slice(1).map(parseField) };
  parsed.set(name, schema);
  return schema;
};

const parseField = (text: string): FieldSchema => {
  const [, kind, name = '', number, shape, type = ''] = FIELD.exec(text) ?? [];
  if (name === '') throw new Error(`not a field of the schema: ${text}`);
  return {
    name,
    number: Number(number),
    type,
    shape: shape === '*' ? 'list' : shape === '%' ? 'map' : 'one',
    inline: kind === '^',
    omitsZero: kind === '~',
  };
};

/** `apps/v1`, `Deployment` is `apps.v1.Deployment`; groups with a domain are reduced to their first part. */
export const schemaName = (apiVersion: string, kind: string): string => {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
  return `${group?.split('.')[0]}.${version}.${kind}`;
};
