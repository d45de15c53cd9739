import { describe, expect, it } from '@jest/globals';
import { Linter } from 'eslint';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { foreignText, OWN_DATA } from './lint/foreign.text.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const lines = (code: string): readonly number[] =>
  new Linter()
    .verify(code, [{ plugins: { own: { rules: { text: foreignText as never } } }, rules: { 'own/text': 'error' } }])
    .map(({ line }) => line);

describe('the lint rule for untrusted text', () => {
  it.each([
    ['JSON.parse(text);'],
    ['message.json();'],
    ["import { parse } from 'yaml';"],
    ["import * as yaml from 'yaml';"],
    ["import { load } from 'js-yaml';"],
  ])('reports %s', (code) => expect(lines(code)).toEqual([1]));

  it.each([
    ["import { stringify } from 'yaml';"],
    ["import { parseJson } from '@fairlead/parsers'; parseJson(text, { lengthMax: 10 });"],
    ['z.json();'],
    ['response.json(body);'],
    ['JSON.stringify(value);'],
  ])('accepts %s', (code) => expect(lines(code)).toEqual([]));

  it('exempts existing files, each with a reason', () => {
    expect(Object.keys(OWN_DATA).filter((place) => !existsSync(`${root}${place}`))).toEqual([]);
    expect(Object.values(OWN_DATA).filter((reason) => reason.length < 8)).toEqual([]);
  });
});
