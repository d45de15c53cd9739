import { describe, expect, it } from '@jest/globals';
import { refuseDenseJson } from './json.bounds.js';

const look = (text: string) => () => refuseDenseJson(Buffer.from(text));

describe('the bounds of JSON', () => {
  it('accept what Kubernetes returns, including brackets in its texts', () => {
    expect(look('{"items":[{"metadata":{"name":"a"},"spec":{"a":[1,2,{}]}}]}')).not.toThrow();
    expect(look(`{"a":"${'[{'.repeat(1_000)}\\"${',['.repeat(1_000_000)}"}`)).not.toThrow();
    expect(look('')).not.toThrow();
    expect(look('no JSON: "')).not.toThrow();
  });

  it('reject a depth that recursive code cannot handle', () =>
    expect(look('{"a":'.repeat(101))).toThrow('it answered with JSON that is nested more than 100 deep'));

  it('reject values that take many times their length in memory', () => {
    expect(look(`[${'{},'.repeat(1_000_000)}]`)).toThrow('it answered with JSON of more than 1000000 values');
    expect(look(`{"a":"\\\\",${'"":0,'.repeat(1_000_001)}`)).toThrow('values');
  });
});
