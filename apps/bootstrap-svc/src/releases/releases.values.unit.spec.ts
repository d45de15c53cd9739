import { describe, expect, it } from '@jest/globals';
import type { Addon } from '@fairlead/contracts';
import { ReleaseSources } from './releases.sources.js';
import { mergedValues, sealedTexts, withoutSealed } from './releases.values.js';

const { signal } = new AbortController();
const addon = (fields: object): Addon => ({ name: 'paint', ...fields }) as unknown as Addon;
const sources = (secrets: Readonly<Record<string, object>>, asked: unknown[] = []): ReleaseSources =>
  new ReleaseSources(
    {
      ofApplication: async () => Buffer.from('of the catalogue'),
      ofRepository: async (chart) => (asked.push(chart), Buffer.from('of a repository')),
    },
    {
      get: async (namespace, name) => {
        const values = secrets[`${namespace}/${name}`];
        return values && { setBy: `event of ${name}`, values: values as never };
      },
    },
  );

describe('the values of a chart', () => {
  it('are those of its secrets, later ones override earlier ones, and declared ones override all of them', async () => {
    const secrets = {
      'team-a/one': { db: { user: 'a', password: 'p' }, list: [1, 2] },
      'team-a/two': { db: { user: 'b' } },
    };
    const declared = addon({
      ...{ application: 'paint', version: '1.0.0', values: { list: [3], colour: 'red' } },
      valuesFrom: [{ secretName: 'one' }, { secretName: 'two' }],
    });
    const { values, sealed, setBy } = await sources(secrets).desired('team-a', declared, signal);
    expect(values).toEqual({ db: { user: 'b', password: 'p' }, list: [3], colour: 'red' });
    expect(setBy).toEqual({ one: 'event of one', two: 'event of two' });
    expect(sealed).not.toContain('red');
  });

  it('are only those of its namespace: the error for a missing secret explains how to set it', async () => {
    const declared = addon({ application: 'paint', version: '1.0.0', valuesFrom: [{ secretName: 'one' }] });
    await expect(sources({ 'team-b/one': {} }).desired('team-a', declared, signal)).rejects.toThrow(
      'the namespace has no add-on secret one; set it with "fairlead addon set-secret one"',
    );
  });

  it('cannot change the prototype', () => {
    const values = mergedValues([JSON.parse('{"__proto__":{"a":1}}') as never, { b: {} }]);
    expect(({} as { readonly a?: number }).a).toBeUndefined();
    expect(Object.keys(values)).toContain('b');
  });
});

describe('a chart of a repository', () => {
  it('is downloaded with the credentials of its secret, which must have both', async () => {
    const asked: unknown[] = [];
    const chart = { repository: 'oci://registry.example.org/charts', name: 'paint', credentialsSecretName: 'registry' };
    const declared = addon({ chart, version: '1.0.0' });
    const secrets = { 'team-a/registry': { username: 'ada', password: 'secret' } };
    const { source } = await sources(secrets, asked).desired('team-a', declared, signal);
    expect(source).toMatchObject({ kind: 'archive', version: '1.0.0' });
    const { credentialsSecretName: _name, ...named } = chart;
    expect(asked).toEqual([{ ...named, version: '1.0.0', credentials: { username: 'ada', password: 'secret' } }]);
    await expect(
      sources({ 'team-a/registry': { username: 'ada' } }).desired('team-a', declared, signal),
    ).rejects.toThrow('it has no username and password');
  });
});

describe('messages about a chart', () => {
  it('contain no sealed text, in no line and not in base64', () => {
    const sealed = sealedTexts({ db: { password: 'open sesame', pem: 'first line\nsecond line', port: 54321 } });
    const words = `bad: open sesame, ${Buffer.from('open sesame').toString('base64')}, second line, 54321`;
    expect(withoutSealed(words, sealed)).toBe('bad: [sealed], [sealed], [sealed], [sealed]');
  });
});
