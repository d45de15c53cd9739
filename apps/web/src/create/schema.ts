/** What is read of a JSON Schema. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly (string | number)[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
}

/** How a value is entered. */
export type Shape =
  | { readonly kind: 'choice'; readonly options: readonly (string | number)[] }
  | { readonly kind: 'flag' }
  | { readonly kind: 'number'; readonly min: number | undefined; readonly max: number | undefined }
  | { readonly kind: 'text'; readonly mayBeNumber: boolean }
  /** A list of texts, one in each line, or one word in place of the list. */
  | { readonly kind: 'lines'; readonly mayBeNumber: boolean; readonly word?: string }
  /** Names with texts, one pair in each line. */
  | { readonly kind: 'pairs' }
  | { readonly kind: 'object'; readonly fields: readonly Field[] }
  | { readonly kind: 'list'; readonly item: Shape }
  /** Of a form that only the text has. */
  | { readonly kind: 'other' };

export interface Field {
  readonly name: string;
  readonly shape: Shape;
  readonly isRequired: boolean;
  readonly help: string;
  readonly standard: unknown;
}

/** Deeper than a manifest is, and the end of a schema that contains itself. */
const DEPTH_MAX = 12;
const SCALARS: ReadonlySet<string> = new Set(['string', 'integer', 'number']);
const READ_ONLY = /^Read-only/;

/** The form of a document that has this schema. */
export const formOf = (root: JsonSchema): readonly Field[] => {
  const definitions = root.$defs ?? {};
  const resolved = (schema: JsonSchema): JsonSchema => {
    if (schema.$ref === undefined) return schema;
    const { $ref, ...beside } = schema;
    return { ...definitions[$ref.replace('#/$defs/', '')], ...beside };
  };
  const scalarOf = ({ type, minimum, maximum, anyOf = [] }: JsonSchema): Shape | undefined => {
    if (anyOf.length > 0 && anyOf.every((one) => SCALARS.has(resolved(one).type ?? '')))
      return { kind: 'text', mayBeNumber: anyOf.some((one) => resolved(one).type === 'integer') };
    if (type === 'string') return { kind: 'text', mayBeNumber: false };
    if (type === 'boolean') return { kind: 'flag' };
    return type === 'integer' || type === 'number' ? { kind: 'number', min: minimum, max: maximum } : undefined;
  };
  const listOf = (items: JsonSchema, depth: number): Shape => {
    const item = shapeOf(items, depth);
    if (item.kind === 'text') return { kind: 'lines', mayBeNumber: item.mayBeNumber };
    if (item.kind === 'choice') return { kind: 'lines', mayBeNumber: false };
    return item.kind === 'object' ? { kind: 'list', item } : { kind: 'other' };
  };
  const wordOrListOf = ([word, list, ...more]: readonly JsonSchema[], depth: number): Shape | undefined => {
    if (typeof word?.const !== 'string' || list === undefined || more.length > 0) return undefined;
    const lines = shapeOf(list, depth + 1);
    return lines.kind === 'lines' ? { ...lines, word: word.const } : undefined;
  };
  const shapeOf = (given: JsonSchema, depth: number): Shape => {
    const schema = resolved(given);
    if (depth > DEPTH_MAX) return { kind: 'other' };
    const wordOrList = wordOrListOf(schema.anyOf ?? [], depth);
    if (wordOrList !== undefined) return wordOrList;
    if (schema.enum !== undefined) return { kind: 'choice', options: schema.enum };
    if (schema.type === 'array' && schema.items !== undefined) return listOf(schema.items, depth + 1);
    if (schema.properties !== undefined) return { kind: 'object', fields: fieldsOf(schema, depth + 1) };
    const { additionalProperties } = schema;
    if (typeof additionalProperties === 'object' && resolved(additionalProperties).type === 'string')
      return { kind: 'pairs' };
    return scalarOf(schema) ?? { kind: 'other' };
  };
  const fieldsOf = ({ properties = {}, required = [] }: JsonSchema, depth: number): readonly Field[] =>
    Object.entries(properties).flatMap(([name, given]) => {
      const schema = resolved(given);
      if (schema.const !== undefined || READ_ONLY.test(schema.description ?? '')) return [];
      return {
        ...{ name, shape: shapeOf(schema, depth), isRequired: required.includes(name) },
        ...{ help: schema.description ?? '', standard: schema.default },
      };
    });
  return fieldsOf(resolved(root), 0);
};

/** What a person has entered as text; undefined: nothing. */
export const enteredText = (text: string, mayBeNumber: boolean): string | number | undefined => {
  if (text === '') return undefined;
  return mayBeNumber && /^\d{1,9}$/.test(text) ? Number(text) : text;
};

/** Lines that are not empty, or the word that stands for all of them. */
export const enteredLines = (
  text: string,
  mayBeNumber: boolean,
  word?: string,
): readonly (string | number)[] | string | undefined => {
  if (word !== undefined && text.trim() === word) return word;
  const lines = text.split('\n').flatMap((line) => enteredText(line.trim(), mayBeNumber) ?? []);
  return lines.length === 0 ? undefined : lines;
};

/** `name=text` in each line; a line without `=` is a name with an empty text. */
export const enteredPairs = (text: string): Readonly<Record<string, string>> | undefined => {
  const pairs = text.split('\n').flatMap((line) => {
    const [name = '', ...rest] = line.split('=');
    return name.trim() === '' ? [] : [[name.trim(), rest.join('=').trim()] as const];
  });
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
};

/** A new entry of a list: what it must have, empty. */
export const newEntry = (item: Shape): Readonly<Record<string, unknown>> =>
  item.kind !== 'object'
    ? {}
    : Object.fromEntries(
        item.fields.flatMap(({ name, isRequired, shape }) =>
          isRequired ? [[name, shape.kind === 'number' ? (shape.min ?? 1) : emptyOf(shape)]] : [],
        ),
      );

const emptyOf = (shape: Shape): unknown => {
  switch (shape.kind) {
    case 'choice':
      return shape.options[0];
    case 'flag':
      return false;
    case 'lines':
    case 'list':
      return [];
    case 'object':
      return newEntry(shape);
    case 'pairs':
      return {};
    case 'number':
    case 'text':
    case 'other':
      return '';
  }
};
