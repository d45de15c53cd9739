import { PROVIDER_SETTINGS, type Refusal } from '@fairlead/contracts';
import { fieldPath, parseByShape } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type * as z from 'zod';
import { requestSchemas } from './request.schemas.fixtures.js';
import { KINDS, wrongInputs } from './wrong.inputs.fixtures.js';

/** Bodies and queries by the schema itself: many routes have the same. A path that is wrong is the name of nothing. */
const schemas: ReadonlyMap<z.ZodType, string> = new Map(
  [
    ...requestSchemas(RouteParamtypes.BODY),
    ...requestSchemas(RouteParamtypes.QUERY),
    ...Object.entries(PROVIDER_SETTINGS).map(([provider, schema]) => [`settings of ${provider}`, schema] as const),
  ].map(([place, schema]) => [schema, place]),
);

/** What zod says in English, names of its checks, values of JavaScript, and patterns, which are for programs. */
const FOREIGN =
  /\b(Invalid|Unrecognized|Too (small|big)|expected|received|Expected|undefined|NaN|Infinity|nan|bigint|regex|pattern|union|record|tuple)\b|\[object|\/\^|\$\/|\\[dw]/;

const isWithin = (field: string, path: string): boolean =>
  field === '' || path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);

/** Why an answer is not in Fairlead's own words; undefined: it is. */
const fault = ({ message, help, field }: Refusal): string | undefined => {
  if (FOREIGN.test(message)) return `foreign: ${message.slice(0, 160)}`;
  if (help === undefined || help === '') return `without advice: ${message.slice(0, 160)}`;
  if (field !== undefined && !message.includes(field)) return `without its field ${field}: ${message.slice(0, 160)}`;
  const said = message.startsWith(`${field}: `) ? message.slice(`${field}: `.length) : message;
  return SENTENCE.test(said) ? undefined : `no sentence: ${message.slice(0, 160)}`;
};

/** Whatever the field is: it must be or have something, or is or has what it must not. */
const SENTENCE = /^(must |it is |is |are |has |have |cannot |needs |The request |Unknown field )/;

interface Tried {
  readonly refused: number;
  readonly kinds: ReadonlySet<string>;
  readonly faults: ReadonlySet<string>;
}

const tried = (schema: z.ZodType): Tried => {
  const faults = new Set<string>();
  const kinds = new Set<string>();
  let refused = 0;
  for (const { kind, path, value, isRefused } of wrongInputs(schema)) {
    const shape = parseByShape(schema, value);
    if ('data' in shape) continue;
    refused += 1;
    kinds.add(kind);
    const at = fieldPath(path);
    for (const refusal of shape.faults) {
      const found = fault(refusal);
      if (found !== undefined) faults.add(found);
    }
    const named = shape.faults.some(({ field }) => field === undefined || isWithin(field, at) || isWithin(at, field));
    if (isRefused && !named)
      faults.add(`${kind} at ${at} is not named: ${JSON.stringify(shape.faults[0]).slice(0, 200)}`);
  }
  return { refused, kinds, faults };
};

describe('a wrong request', () => {
  const results = [...schemas].map(([schema, place]) => ({ place, ...tried(schema) }));

  it.each(results)('of $place is refused in our own words, with the field and what to do', ({ faults }) => {
    expect([...faults].slice(0, 20)).toEqual([]);
  });

  it('is tried in every way, of every schema', () => {
    expect(results.length).toBeGreaterThan(50);
    expect(new Set(results.flatMap(({ kinds }) => [...kinds]))).toEqual(new Set(KINDS));
    const count = results.reduce((sum, { refused }) => sum + refused, 0);
    expect(count).toBeGreaterThan(5_000);
  });
});
