import { REFUSALS, refuse } from '@fairlead/contracts';
import { fieldPath } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import * as z from 'zod';
import { canonicalJson, sameJson } from '../common/json.js';
import { suspectSettings } from '../connections/connections.rules.js';
import { isOutage } from './outage.js';
import { waitSecondsOf } from './prefer.js';
import { errorView } from './refused.filter.js';
import { RefusalError } from './refusal.error.js';
import { parseBody } from './validation.pipe.js';

describe('the faults of a body', () => {
  const refusalsOf = (body: unknown) => {
    try {
      parseBody(z.strictObject({ items: z.array(z.int()).optional() }), body);
    } catch (error) {
      if (error instanceof RefusalError) return errorView(error.refusals, 'r').errors;
      throw error;
    }
    return [];
  };

  it('are listed up to a number, so that an answer is not many times longer than the request', () => {
    const body = Object.fromEntries(Array.from({ length: 15_000 }, (_, at) => [`unknown-${at}`, 1]));
    const errors = refusalsOf(body);
    expect(errors).toHaveLength(21);
    expect(errors.at(-1)).toMatchObject({
      reason: 'request.more-faults',
      message: 'The request has 14980 more errors, which are not listed',
    });
    expect(JSON.stringify(errors).length).toBeLessThan(10_000);
    expect(refusalsOf({ items: Array.from({ length: 30 }, () => 'x'), other: 1 })).toHaveLength(21);
    expect(refusalsOf({ items: ['x'], other: 1 })).toMatchObject([
      { reason: 'request.unknown-field', field: 'other' },
      { reason: 'request.malformed', field: 'items[0]' },
    ]);
  });

  it('do not repeat a long name whole', () => {
    expect(JSON.stringify(refusalsOf({ ['x'.repeat(200_000)]: 1 })).length).toBeLessThan(2_000);
  });
});

describe('the preference to wait', () => {
  it.each([
    [undefined, 0],
    ['', 0],
    ['wait=30', 30],
    ['respond-async, wait=5', 5],
    ['Wait=7; handling=lenient', 7],
    ['foo="a, wait=3", wait = "4"', 4],
    ['wait=1, wait=2', 1],
    ['wait=100000', 600],
    ['await=9', 0],
    ['wait=-1', undefined],
    ['wait=soon', undefined],
    ['wait', undefined],
    ['=1', undefined],
    ['wait=3 ; a = "x;y" ;; b', 3],
    ['"wait=1', undefined],
    [`wait=1${';  '.repeat(100)}"`, undefined],
    [`${' ,'.repeat(200)}"`, undefined],
    [`a=${'x'.repeat(1_000)}`, undefined],
  ])('of %j is %p s', (prefer, seconds) => {
    expect(waitSecondsOf(prefer)).toBe(seconds);
  });
});

describe('the path of a field', () => {
  it.each([
    [[], ''],
    [['name'], 'name'],
    [['config', 'kubernetes', 'podCidr'], 'config.kubernetes.podCidr'],
    [['worker', 0, 'spec'], 'worker[0].spec'],
    [['worker', 1, 'rootDisk', 'size'], 'worker[1].rootDisk.size'],
  ])('of %j is %s', (path, text) => {
    expect(fieldPath(path)).toBe(text);
  });
});

describe('the answer to a refused request', () => {
  it('repeats the first of all that is wrong, under its status', () => {
    const view = errorView(
      [refuse('cluster.name-empty', {}, 'name'), refuse('cluster.etcd', {}, 'config.kubernetes.etcd')],
      'r1',
    );
    expect(view).toEqual({
      kind: 'Status',
      code: 400,
      reason: 'cluster.name-empty',
      message: 'The name of the cluster is empty',
      field: 'name',
      help: 'Give the cluster a name.',
      errors: [
        {
          reason: 'cluster.name-empty',
          message: 'The name of the cluster is empty',
          field: 'name',
          help: 'Give the cluster a name.',
        },
        {
          reason: 'cluster.etcd',
          message: 'etcd must be local or external',
          field: 'config.kubernetes.etcd',
          help: 'Use local or external.',
        },
      ],
      requestId: 'r1',
    });
  });

  it('has a sentence and a help for every code of the catalogue', () => {
    for (const [code, { sentence, help, status }] of Object.entries(REFUSALS))
      expect([code, sentence !== '', help !== '', status >= 400]).toEqual([code, true, true, true]);
  });
});

describe('equal JSON', () => {
  it('does not depend on the order of keys, at any depth', () => {
    const shuffled = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffled);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, inner]) => [key, shuffled(inner)]),
      );
    };
    fc.assert(fc.property(fc.jsonValue(), (value) => expect(sameJson(value, shuffled(value))).toBe(true)));
    expect(canonicalJson({ b: 1, a: [2, { d: 3, c: 4 }] })).toBe('{"a":[2,{"c":4,"d":3}],"b":1}');
    expect(sameJson({ a: 1 }, { a: 2 })).toBe(false);
  });
});

describe('a setting that looks like a secret', () => {
  it.each([
    [{ password: 'x' }, ['settings.password']],
    [{ auth: [{ apiToken: 'x' }] }, ['settings.auth[0].apiToken']],
    [{ private_key: 'x', region: 'r' }, ['settings.private_key']],
    [{ tokenRef: 'infra-svc.x', secretName: 'y', keyFile: '/k' }, []],
    [{ tokens: 3, endpoint: 'http://x' }, []],
  ])('in %j is found', (settings, fields) => {
    expect(suspectSettings(settings)).toEqual(fields);
  });
});

describe('an outage', () => {
  const withCode = (code: string): Error => Object.assign(new Error('x'), { code });
  const wrapped = Object.assign(new Error('query failed'), { driverError: withCode('57P01') });

  it.each([
    withCode('ECONNREFUSED'),
    withCode('08006'),
    wrapped,
    new AggregateError([withCode('ETIMEDOUT')]),
    new Error('Connection terminated unexpectedly'),
  ])('is %p', (error) => {
    expect(isOutage(error)).toBe(true);
  });

  it.each([new Error('x'), withCode('23505'), new TypeError('x is not a function'), 'ECONNREFUSED', undefined])(
    'is not %p',
    (error) => {
      expect(isOutage(error)).toBe(false);
    },
  );
});
