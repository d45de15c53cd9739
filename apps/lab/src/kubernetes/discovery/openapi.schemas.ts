import type { ResourceDefinition } from '../resources/resource.js';
import { messageSchema, schemaName, type FieldSchema } from '../schema/message.schema.js';

/** The `components.schemas` of an OpenAPI document: fields and their types, without descriptions. */
export type Schemas = Readonly<Record<string, object>>;

const SCALARS: Readonly<Record<string, object>> = {
  string: { type: 'string' },
  bytes: { type: 'string', format: 'byte' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
};

/** Types whose JSON form is not an object of their fields. */
const SPECIAL: Readonly<Record<string, object>> = {
  'api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
  'util.intstr.IntOrString': { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
  'meta.v1.Time': { type: 'string', format: 'date-time' },
  'meta.v1.MicroTime': { type: 'string', format: 'date-time' },
  'meta.v1.Duration': { type: 'string' },
  'meta.v1.FieldsV1': { type: 'object' },
  'runtime.RawExtension': { type: 'object' },
};

/** The schemas of the resources of one group and version, and of all types that they use. */
export const schemasOf = (resources: readonly ResourceDefinition[], version: string): Schemas => {
  const schemas: Record<string, object> = {};
  for (const { group, kind } of resources) {
    const name = schemaName(group === '' ? version : `${group}/${version}`, kind);
    if (messageSchema(name) === undefined) continue;
    collect(name, schemas);
    const { properties } = schemas[longName(name)] as { readonly properties: object };
    schemas[longName(name)] = {
      type: 'object',
      properties: { apiVersion: SCALARS['string'], kind: SCALARS['string'], ...properties },
      'x-kubernetes-group-version-kind': [{ group, version, kind }],
    };
  }
  return schemas;
};

const collect = (type: string, schemas: Record<string, object>): void => {
  const name = longName(type);
  if (schemas[name] !== undefined) return;
  const special = SPECIAL[type];
  if (special !== undefined) {
    schemas[name] = special;
    return;
  }
  // Types can be recursive (JSON schemas are), so the name is reserved before the fields are visited.
  schemas[name] = {};
  schemas[name] = { type: 'object', properties: propertiesOf(type, schemas) };
};

const propertiesOf = (type: string, schemas: Record<string, object>): Schemas =>
  Object.fromEntries(
    (messageSchema(type)?.fields ?? []).flatMap((field) =>
      field.inline ? Object.entries(propertiesOf(field.type, schemas)) : [[field.name, propertyOf(field, schemas)]],
    ),
  );

const propertyOf = ({ type, shape }: FieldSchema, schemas: Record<string, object>): object => {
  const scalar = SCALARS[type];
  if (scalar === undefined) collect(type, schemas);
  const one = scalar ?? { allOf: [{ $ref: `#/components/schemas/${longName(type)}` }] };
  switch (shape) {
    case 'one':
      return one;
    case 'list':
      return { type: 'array', items: one };
    case 'map':
      return { type: 'object', additionalProperties: one };
  }
};

/** `apps.v1.Deployment` is `io.k8s.api.apps.v1.Deployment` in OpenAPI; `meta.v1.Time` belongs to apimachinery. */
const longName = (type: string): string => {
  if (type.startsWith('meta.')) return `io.k8s.apimachinery.pkg.apis.${type}`;
  return /^(api|util|runtime)\./.test(type) ? `io.k8s.apimachinery.pkg.${type}` : `io.k8s.api.${type}`;
};
