import type * as z from 'zod';

/** A value that a schema refuses, or should. */
export interface WrongInput {
  readonly kind: (typeof KINDS)[number];
  /** Where it is wrong: `spec.pools[0].name`. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
  /** Whether the part of the schema at that place refuses it, whatever is beside it. */
  readonly isRefused: boolean;
}

export const KINDS = [
  ...(['missing', 'wrong type', 'null', 'too long', 'too short', 'too large', 'too small', 'not whole'] as const),
  ...(['unknown key', 'wrong choice', 'bad pattern', 'nested array', 'bad key'] as const),
] as const;

type Def = Readonly<Record<string, unknown>> & { readonly type: string };
const defOf = (schema: z.ZodType): Def => schema._zod.def as unknown as Def;

const WRAPPERS: ReadonlySet<string> = new Set(['optional', 'default', 'prefault', 'nullable', 'readonly', 'catch']);

/** Without what only says that it may be left out or is transformed later. */
const inner = (schema: z.ZodType): z.ZodType => {
  const def = defOf(schema);
  if (WRAPPERS.has(def.type) || def.type === 'nonoptional') return inner(def['innerType'] as z.ZodType);
  if (def.type === 'pipe') {
    const from = def['in'] as z.ZodType;
    return inner(defOf(from).type === 'transform' ? (def['out'] as z.ZodType) : from);
  }
  if (def.type === 'lazy') return inner((def['getter'] as () => z.ZodType)());
  return schema;
};

/** Texts of the kinds that requests have: the first that a schema accepts is its sample. */
const TEXTS = [
  ...[
    'a',
    'shop',
    'v1.34.4',
    '1.34.4',
    '1',
    '50%',
    '5m',
    '24h',
    '10.0.0.0/8',
    '192.0.2.1',
    '0 3 * * *',
    'mon',
    '03:00',
  ],
  ...[
    'https://example.org/',
    'http://192.0.2.1:3128',
    '2026-11-21T08:00:00Z',
    'Cluster',
    'tier',
    'a/b:1',
    'a'.repeat(64),
  ],
  ...['SHA256:'.padEnd(50, 'A'), 'X'.padEnd(56, 'A'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
];
const NUMBERS = [1, 0, 2, 60, 600, 3_600, 1_024, 30_000, 86_400];

const firstAccepted = (schema: z.ZodType, values: readonly unknown[]): unknown =>
  values.find((value) => schema.safeParse(value).success) ?? values[0];

const DEPTH_MAX = 12;

/** A value that fits the schema as far as that is known from its parts. */
const sampleOf = (schema: z.ZodType, depth = 0): unknown => {
  const here = inner(schema);
  const def = defOf(here);
  if (depth > DEPTH_MAX) return null;
  switch (def.type) {
    case 'string':
      return firstAccepted(here, TEXTS);
    case 'number':
      return firstAccepted(here, NUMBERS);
    case 'boolean':
      return true;
    case 'enum':
      return Object.values(def['entries'] as Readonly<Record<string, unknown>>)[0];
    case 'literal':
      return (def['values'] as readonly unknown[])[0];
    case 'array':
      return [sampleOf(def['element'] as z.ZodType, depth + 1)];
    case 'object':
      return Object.fromEntries(
        Object.entries(def['shape'] as Readonly<Record<string, z.ZodType>>).map(([key, field]) => [
          key,
          sampleOf(field, depth + 1),
        ]),
      );
    case 'record':
      return {
        [String(sampleOf(def['keyType'] as z.ZodType, depth + 1))]: sampleOf(def['valueType'] as z.ZodType, depth + 1),
      };
    case 'union':
      return sampleOf((def['options'] as readonly z.ZodType[])[0]!, depth + 1);
    case 'intersection':
      return sampleOf(def['left'] as z.ZodType, depth + 1);
    default:
      return null;
  }
};

const LONG = 300_000;
const HUGE = 1e15;
const LIST_MAX = 2_000;

type Bounds = { readonly maximum?: number; readonly minimum?: number };
const boundsOf = (schema: z.ZodType): Bounds => schema._zod.bag as Bounds;

type Local = Pick<WrongInput, 'kind' | 'value'>;

const isRefused = (schema: z.ZodType, value: unknown): boolean => !schema.safeParse(value).success;

/** What may be wrong with a value itself. */
const wrongHere = (schema: z.ZodType): readonly Local[] => {
  const def = defOf(schema);
  const types: readonly Local[] = [
    ...[{ x: {} }, 17.5, 'x y', true].map((value): Local => ({ kind: 'wrong type', value })),
    { kind: 'null', value: null },
    { kind: 'nested array', value: [[['x']]] },
  ];
  switch (def.type) {
    case 'string':
      return [
        ...types,
        { kind: 'too long', value: 'a'.repeat(LONG) },
        { kind: 'too short', value: '' },
        ...['\u0001 ü!', '/..//', 'A_B', '-', '99:99', '1.2.3.4.5/99'].map((value): Local => ({
          kind: 'bad pattern',
          value,
        })),
      ];
    case 'number':
      return [
        ...types,
        { kind: 'too large', value: HUGE },
        { kind: 'too small', value: -HUGE },
        { kind: 'not whole', value: 1.5 },
      ];
    case 'enum':
    case 'literal':
      return [...types, { kind: 'wrong choice', value: 'nonsense' }];
    case 'array': {
      const { maximum = 0 } = boundsOf(schema);
      const element = sampleOf(def['element'] as z.ZodType);
      const length = Math.min(maximum, LIST_MAX) + 1;
      return [
        ...types,
        { kind: 'too short', value: [] },
        { kind: 'too long', value: Array.from({ length }, () => element) },
      ];
    }
    case 'record': {
      const value = sampleOf(def['valueType'] as z.ZodType);
      const many = Object.fromEntries(Array.from({ length: LIST_MAX }, (_, at) => [`k${at}`, value]));
      return [...types, { kind: 'bad key', value: { 'ü !': value } }, { kind: 'too long', value: many }];
    }
    default:
      return types;
  }
};

/** Wrong inputs for a schema, each wrong at one place of an otherwise plausible value. */
export function* wrongInputs(schema: z.ZodType, depth = 0): Generator<WrongInput> {
  const here = inner(schema);
  const def = defOf(here);
  if (depth > DEPTH_MAX) return;
  for (const wrong of wrongHere(here)) yield { ...wrong, path: [], isRefused: isRefused(schema, wrong.value) };
  if (def.type === 'object') {
    const sample = sampleOf(here) as Readonly<Record<string, unknown>>;
    const isStrict = def['catchall'] !== undefined && defOf(def['catchall'] as z.ZodType).type === 'never';
    yield { kind: 'unknown key', path: ['unheardOf'], value: { ...sample, unheardOf: 1 }, isRefused: isStrict };
    for (const [key, field] of Object.entries(def['shape'] as Readonly<Record<string, z.ZodType>>)) {
      const { [key]: _left, ...others } = sample;
      yield {
        kind: 'missing',
        path: [key],
        value: others,
        isRefused: field._zod.optin !== 'optional' && isRefused(field, undefined),
      };
      for (const { path, value, ...wrong } of wrongInputs(field, depth + 1))
        yield { ...wrong, path: [key, ...path], value: { ...sample, [key]: value } };
    }
  }
  if (def.type === 'array')
    for (const { path, value, ...wrong } of wrongInputs(def['element'] as z.ZodType, depth + 1))
      yield { ...wrong, path: [0, ...path], value: [value] };
  if (def.type === 'record') {
    const [key = 'a'] = Object.keys(sampleOf(here) as object);
    for (const { path, value, ...wrong } of wrongInputs(def['valueType'] as z.ZodType, depth + 1))
      yield { ...wrong, path: [key, ...path], value: { [key]: value } };
  }
  if (def.type === 'union')
    for (const option of def['options'] as readonly z.ZodType[])
      // What one alternative refuses may be another.
      for (const wrong of wrongInputs(option, depth + 1)) yield { ...wrong, isRefused: false };
  if (def.type === 'intersection') yield* wrongInputs(def['left'] as z.ZodType, depth + 1);
}
