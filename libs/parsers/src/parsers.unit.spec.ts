import { promiseBrokenBy } from '@fairlead/testing/processor.time';
import { WORST_JSON, WORST_YAML, type WorstText } from '@fairlead/testing/worst.texts';
import { describe, expect, it } from '@jest/globals';
import { ParseFailure, parseJson, parseJsonOrUndefined, parseYaml, parseYamlDocuments, select } from './index.js';

const MEBIBYTE = 1_048_576;
const lengthMax = 2 * MEBIBYTE;

const failure = (parse: () => unknown): string => {
  try {
    parse();
  } catch (error) {
    if (error instanceof ParseFailure) return `${error.reason}: ${error.message}`;
    throw error;
  }
  return 'parsed';
};
const ends = (parse: () => unknown): void => {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
  }
};
const names = (texts: Readonly<Record<string, WorstText>>): readonly string[] => Object.keys(texts);

describe('untrusted JSON', () => {
  it.each(names(WORST_JSON))('takes at most 200 ms per MiB: %s', async (shape) => {
    const text = WORST_JSON[shape]!(MEBIBYTE);
    expect(await promiseBrokenBy(text.length, () => ends(() => parseJson(text, { lengthMax })))).toBeUndefined();
  });

  it('is rejected before it is built if it is longer or deeper or has more values than allowed', () => {
    const text = '{"a": ["x,:[{", "\\"[", 1]}';
    expect(parseJson(text, { lengthMax: 30, depthMax: 2, valuesMax: 6 })).toEqual({ a: ['x,:[{', '"[', 1] });
    expect(failure(() => parseJson(text, { lengthMax: 10 }))).toBe('too-long: it has more than 10 characters');
    expect(failure(() => parseJson(text, { lengthMax: 30, depthMax: 1 }))).toBe(
      'too-deep: it is nested more than 1 deep',
    );
    expect(failure(() => parseJson(text, { lengthMax: 30, valuesMax: 5 }))).toBe(
      'too-many-values: it has more than 5 values',
    );
    expect(failure(() => parseJson('[1,', { lengthMax: 30 }))).toBe('malformed: it is not JSON');
    expect(parseJsonOrUndefined('[1,', { lengthMax: 30 })).toBeUndefined();
  });

  it('keeps names such as __proto__ as own properties', () => {
    const value = parseJson('{"__proto__": {"admin": true}}', { lengthMax }) as { admin?: boolean };
    expect([value.admin, Object.keys(value)]).toEqual([undefined, ['__proto__']]);
  });
});

describe('untrusted YAML', () => {
  it.each(names(WORST_YAML))('takes at most 200 ms per MiB: %s', async (shape) => {
    const text = WORST_YAML[shape]!(MEBIBYTE / 4);
    const work = () => ends(() => parseYamlDocuments(text, { lengthMax, aliases: 'allowed' }));
    expect(await promiseBrokenBy(text.length, work)).toBeUndefined();
  });

  it('is YAML 1.2: JSON is valid, and words such as "no" are strings', () => {
    const text = 'a: no\nb: 0x1F\nc: [1, "2", null, true]\nd: |\n  x\n  y\n? e\n: {f: 2026-01-31}\n';
    expect(parseYaml(text, { lengthMax })).toEqual({
      ...{ a: 'no', b: 31, c: [1, '2', null, true], d: 'x\ny\n', e: { f: '2026-01-31' } },
    });
    expect(parseYaml('{"a": [1]}', { lengthMax })).toEqual({ a: [1] });
    expect(parseYaml('', { lengthMax })).toBeNull();
  });

  it('has only strings if its reader accepts nothing else', () => {
    expect(parseYaml('a: 1\nb: ~', { lengthMax, scalars: 'strings' })).toEqual({ a: '1', b: '~' });
    expect(failure(() => parseYaml('a: !!str 1', { lengthMax, scalars: 'strings' }))).toBe('tags: it has YAML tags');
  });

  it('is rejected if it is longer or deeper or has more values or documents than allowed', () => {
    expect(failure(() => parseYaml('a: 1', { lengthMax: 3 }))).toBe('too-long: it has more than 3 characters');
    expect(parseYaml('[[1]]', { lengthMax, depthMax: 2 })).toEqual([[1]]);
    expect(failure(() => parseYaml('[[[1]]]', { lengthMax, depthMax: 2 }))).toBe(
      'too-deep: it is nested more than 2 deep',
    );
    expect(failure(() => parseYaml('[1, 2, 3]', { lengthMax, valuesMax: 3 }))).toBe(
      'too-many-values: it has more than 3 values',
    );
    expect(failure(() => parseYaml('a\n---\nb', { lengthMax }))).toBe(
      'too-many-documents: it has more than one document',
    );
    expect(failure(() => parseYamlDocuments('---\n'.repeat(1_001), { lengthMax }))).toBe(
      'too-many-documents: it has more than 1000 documents',
    );
  });

  it('has no aliases unless allowed, and then none that expand beyond its limits', () => {
    const text = 'a: &x [1, 2]\nb: *x\n';
    expect(failure(() => parseYaml(text, { lengthMax }))).toBe('aliases: it has YAML anchors or aliases');
    expect(parseYaml(text, { lengthMax, aliases: 'allowed' })).toEqual({ a: [1, 2], b: [1, 2] });
    expect(failure(() => parseYaml(text, { lengthMax, aliases: 'allowed', valuesMax: 6 }))).toMatch(/^too-many-values/);
    const laughs = WORST_YAML['aliases of aliases']!(4_096);
    expect(failure(() => parseYaml(laughs, { lengthMax, aliases: 'allowed' }))).toMatch(/^too-many-values/);
    expect(failure(() => parseYaml('&a [*a]', { lengthMax, aliases: 'allowed' }))).toMatch(/^(too-deep|malformed)/);
  });

  it('is rejected with the location, in few words and without control characters', () => {
    expect(failure(() => parseYaml('a: 1\nb: c: d', { lengthMax }))).toBe(
      'malformed: bad indentation of a mapping entry (line 2, column 5)',
    );
    expect(failure(() => parseYaml('a: 1\na: 2', { lengthMax }))).toBe(
      'malformed: duplicated mapping key (line 2, column 1)',
    );
    const words = failure(() => parseYaml(`*${'\u009B'.repeat(5_000)}`, { lengthMax }));
    expect(words.length).toBeLessThan(250);
    expect(words).not.toMatch(/\p{Cc}/u);
  });

  it('keeps names such as __proto__ as own properties', () => {
    const value = parseYaml('__proto__: {admin: true}', { lengthMax }) as { admin?: boolean };
    expect([value.admin, Object.keys(value)]).toEqual([undefined, ['__proto__']]);
  });
});

describe('a selection of a value', () => {
  it('is the value at a path, with some fields of each object of a list', () => {
    const value = { a: { b: [{ c: 1, d: 2 }, { d: 3 }, 4, 5] } };
    const selection = { path: ['a', 'b'], fields: ['c'], itemsMax: 3 };
    expect(select(value, selection)).toEqual([{ c: 1 }, { c: undefined }, 4]);
    expect(select(value, { path: ['a', 'constructor'] })).toBeUndefined();
    expect(select({ a: null }, { path: ['a', 'b'] })).toBeUndefined();
    expect(failure(() => select(value, { path: ['x', 'b'] }))).toBe('malformed: it has no x');
    expect(select(value, { path: [] })).toBe(value);
  });
});
