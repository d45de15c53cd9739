import { PROVIDER_SETTINGS, RequestTime, Time } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import * as z from 'zod';
import { unboundedIn } from './request.bounds.fixtures.js';
import { requestSchemas } from './request.schemas.fixtures.js';
import { UNKNOWN } from './validation.pipe.js';

/** What has no bound of its own but that of the body, and why. */
const CHECKED_ELSEWHERE: Readonly<Record<string, string>> = {
  'AddonSecretsHttp.put 1: values{}': 'AddonSecretRequest bounds its length, and the body its depth',
  'AddonSecretsHttp.put 1: values{}[]': 'AddonSecretRequest bounds its length, and the body its depth',
  'AddonSecretsHttp.put 1: values{}{}': 'AddonSecretRequest bounds its length, and the body its depth',
  'ConnectionsHttp.put 1: settings{}': 'by the strict schema of the provider',
  'ManifestHttp.patch 2: {}': 'the manifest that it leads to is checked as one that is put',
  'ManifestHttp.put 2: metadata.creationTimestamp': 'read-only: ignored',
  'ManifestHttp.put 2: operations': 'read-only: ignored',
  'ManifestHttp.put 2: plan': 'read-only: ignored',
  'ManifestHttp.put 2: spec.addons[].manifests[].metadata{}':
    'addonFaults bounds the add-ons of a cluster together, and the body its depth',
  'ManifestHttp.put 2: spec.addons[].manifests[]{}':
    'addonFaults bounds the add-ons of a cluster together, and the body its depth',
  'ManifestHttp.put 2: spec.addons[].values{}':
    'addonFaults bounds the add-ons of a cluster together, and the body its depth',
  'ManifestHttp.put 2: spec.addons[].values{}[]':
    'addonFaults bounds the add-ons of a cluster together, and the body its depth',
  'ManifestHttp.put 2: spec.addons[].values{}{}':
    'addonFaults bounds the add-ons of a cluster together, and the body its depth',
  'ManifestHttp.put 2: status': 'read-only: ignored',
  'TemplatesHttp.put 2: metadata.creationTimestamp': 'read-only: ignored',
  'TemplatesHttp.put 2: status': 'read-only: ignored',
  'TokensHttp.create 0: expiresAt': 'refused with a code of its own: past, or after the longest lifetime',
  'UpgradesHttp.request 1: strategy.gates[].manifest{}': 'gateJobOf bounds its size, depth and values',
};

const schemas: ReadonlyMap<string, z.ZodType> = new Map([
  ...requestSchemas(),
  ...Object.entries(PROVIDER_SETTINGS).map(([provider, schema]) => [`settings of ${provider}`, schema] as const),
]);

describe('the schemas of requests', () => {
  it('are found at every route', () => {
    expect(schemas.size).toBeGreaterThan(150);
  });

  it('bound every text, number, time, list and map', () => {
    const unbounded = [...schemas].flatMap(([place, schema]) =>
      unboundedIn(schema).map((field) => `${place}: ${field}`),
    );
    const unexplained = unbounded.filter((one) => !Object.hasOwn(CHECKED_ELSEWHERE, one.replace(/ \(\w+\)$/, '')));
    expect(unexplained).toEqual([]);
    // What is no longer there needs no explanation.
    const places = new Set(unbounded.map((one) => one.replace(/ \(\w+\)$/, '')));
    expect(Object.keys(CHECKED_ELSEWHERE).filter((one) => !places.has(one))).toEqual([]);
  });
});

describe('the paths of routes', () => {
  it('answer a name that cannot be one with a refusal, whatever it is the name of', () => {
    const names = [...requestSchemas(RouteParamtypes.PARAM).values()].flatMap((schema) =>
      schema instanceof z.ZodObject ? Object.keys(schema.shape as object) : [],
    );
    expect(names.length).toBeGreaterThan(100);
    expect([...new Set(names)].filter((name) => !Object.hasOwn(UNKNOWN, name))).toEqual([]);
  });
});

describe('a schema', () => {
  it.each<[string, z.ZodType, readonly string[]]>([
    ['a text', z.string(), ['(text)']],
    ['a text of bounded length', z.string().max(3), []],
    ['a text whose bound is documentation', z.string().meta({ maxLength: 3 }), ['(text)']],
    ['one of some texts', z.enum(['a', 'b']), []],
    ['a time of any year', z.iso.datetime().max(35), ['(time)']],
    ['a time, whose fraction may have any length', Time, ['(text)']],
    ['a time of a request', RequestTime, []],
    ['a URL', z.url(), ['(text)']],
    ['a number', z.int().min(1), ['(number)']],
    ['a number between bounds', z.int().min(1).max(3), []],
    ['a list', z.array(z.boolean()), ['[] (list)']],
    ['a list of bounded length', z.array(z.boolean()).max(2), []],
    ['a map', z.record(z.string().max(3), z.boolean()), ['{} (map)']],
    [
      'a map whose bound is documentation',
      z.record(z.string().max(3), z.boolean()).meta({ maxProperties: 3 }),
      ['{} (map)'],
    ],
    ['anything', z.strictObject({ a: z.unknown() }), ['a (anything)']],
    ['what is inside', z.object({ a: z.array(z.object({ b: z.string().optional() })).max(2) }), ['a[].b (text)']],
    ['alternatives', z.union([z.string().max(3), z.int()]).default(1), ['(number)']],
  ])('is examined: %s', (_name, schema, expected) => {
    expect(unboundedIn(schema)).toEqual(expected);
  });
});
