import * as z from 'zod';

type Schema = z.core.$ZodType;

const checksOf = (schema: Schema): readonly string[] => {
  const { checks = [] } = schema._zod.def as { readonly checks?: readonly z.core.$ZodCheck[] };
  return checks.map(({ _zod }) => _zod.def.check);
};

const has = (schema: Schema, ...checks: readonly string[]): boolean =>
  checksOf(schema).some((check) => checks.includes(check));

/** Neither JavaScript nor PostgreSQL reads all times of this year alike. */
const YEAR_ZERO = '0000-01-01T00:00:00Z';
const TEXT = ['max_length', 'length_equals'];

/** Whether a pattern matches texts of any length: it has a quantifier without an end, or no anchors. */
const isUnbounded = ({ source }: RegExp): boolean => {
  const plain = source.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'x');
  return !(plain.startsWith('^') && plain.endsWith('$')) || /[*+]|\{\d+,\}/.test(plain);
};

const patternsOf = (schema: Schema): readonly RegExp[] => {
  const { checks = [], pattern } = schema._zod.def as {
    readonly checks?: readonly { readonly _zod: { readonly def: { readonly pattern?: RegExp } } }[];
    readonly pattern?: RegExp;
  };
  return [pattern, ...checks.map(({ _zod }) => _zod.def.pattern)].filter((one) => one !== undefined);
};

const isBoundedText = (schema: Schema): boolean =>
  has(schema, ...TEXT) || patternsOf(schema).some((pattern) => !isUnbounded(pattern));

/** Where a value of the schema has no bound that is enforced, by the paths of its fields. */
export const unboundedIn = (schema: Schema, at = '', seen: ReadonlySet<Schema> = new Set()): readonly string[] => {
  if (seen.has(schema)) return [];
  const inside = (inner: Schema, path = at): readonly string[] => unboundedIn(inner, path, new Set([...seen, schema]));
  const fault = (kind: string, path = at): readonly string[] => [`${path}${path === '' ? '' : ' '}(${kind})`];
  if (schema instanceof z.ZodISODateTime && schema.safeParse(YEAR_ZERO).success) return fault('time');
  if (schema instanceof z.ZodString || schema instanceof z.ZodStringFormat)
    return isBoundedText(schema) ? [] : fault('text');
  if (schema instanceof z.ZodNumber)
    return has(schema, 'less_than') && has(schema, 'greater_than') ? [] : fault('number');
  if (schema instanceof z.ZodArray)
    return [...(has(schema, ...TEXT) ? [] : fault('list', `${at}[]`)), ...inside(schema.element, `${at}[]`)];
  if (schema instanceof z.ZodRecord)
    return [
      ...(has(schema, 'max_entries') ? [] : fault('map', `${at}{}`)),
      ...inside(schema.keyType, `${at}{}`),
      ...inside(schema.valueType, `${at}{}`),
    ];
  if (schema instanceof z.ZodObject)
    return [
      ...(schema.def.catchall === undefined ? [] : inside(schema.def.catchall, `${at}{}`)),
      ...Object.entries(schema.shape as Readonly<Record<string, Schema>>).flatMap(([key, inner]) =>
        inside(inner, at === '' ? key : `${at}.${key}`),
      ),
    ];
  if (schema instanceof z.ZodUnion) return (schema.options as readonly Schema[]).flatMap((one) => inside(one));
  if (schema instanceof z.ZodTuple) return (schema.def.items as readonly Schema[]).flatMap((one) => inside(one));
  if (schema instanceof z.ZodPipe)
    // What comes before a transformation is what is given; what comes after a preparation is checked.
    return inside(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  if (schema instanceof z.ZodLazy) return inside(schema.unwrap());
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodReadonly ||
    schema instanceof z.ZodCatch
  )
    return inside(schema.unwrap() as Schema);
  const { type } = schema._zod.def;
  return ['enum', 'literal', 'boolean', 'null', 'undefined', 'never'].includes(type) ? [] : fault('anything');
};
