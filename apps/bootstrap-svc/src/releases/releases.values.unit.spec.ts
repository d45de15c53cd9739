import { describe, expect, it } from '@jest/globals';
import {
  installedAddons,
  type Addon,
  type CloudController,
  type ConnectionName,
  type InstalledAddon,
} from '@fairlead/contracts';
import { cloudConfigOf } from './cloud.config.js';
import { ReleaseSources } from './releases.sources.js';
import { mergedValues, sealedTexts, withoutSealed } from './releases.values.js';

const { signal } = new AbortController();
const SHOP = { namespace: 'team-a', cluster: 'shop' };
const CLOUD_SETTINGS = { authUrl: 'https://cloud.example.org:5000/v3', applicationCredential: '0'.repeat(32) };
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
    {
      get: async (name) =>
        name === 'cloud'
          ? { registration: 'event of cloud', region: 'RegionOne', settings: CLOUD_SETTINGS, secret: 'open "sesame"' }
          : undefined,
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
    const { values, sealed, setBy } = await sources(secrets).desired(SHOP, declared, signal);
    expect(values).toEqual({ db: { user: 'b', password: 'p' }, list: [3], colour: 'red' });
    expect(setBy).toEqual({ one: 'event of one', two: 'event of two' });
    expect(sealed).not.toContain('red');
  });

  it('are only those of its namespace: the error for a missing secret explains how to set it', async () => {
    const declared = addon({ application: 'paint', version: '1.0.0', valuesFrom: [{ secretName: 'one' }] });
    await expect(sources({ 'team-b/one': {} }).desired(SHOP, declared, signal)).rejects.toThrow(
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
    const { source } = await sources(secrets, asked).desired(SHOP, declared, signal);
    expect(source).toMatchObject({ kind: 'archive', version: '1.0.0' });
    const { credentialsSecretName: _name, ...named } = chart;
    expect(asked).toEqual([{ ...named, version: '1.0.0', credentials: { username: 'ada', password: 'secret' } }]);
    await expect(sources({ 'team-a/registry': { username: 'ada' } }).desired(SHOP, declared, signal)).rejects.toThrow(
      'it has no username and password',
    );
  });
});

describe('messages about a chart', () => {
  it('contain no sealed text, in no line and not in base64', () => {
    const sealed = sealedTexts({ db: { password: 'open sesame', pem: 'first line\nsecond line', port: 54321 } });
    const words = `bad: open sesame, ${Buffer.from('open sesame').toString('base64')}, second line, 54321`;
    expect(withoutSealed(words, sealed)).toBe('bad: [sealed], [sealed], [sealed], [sealed]');
  });
});

describe('the add-ons of a cloud controller', () => {
  const ofCloud = (provider: CloudController, connection = 'cloud'): readonly InstalledAddon[] =>
    installedAddons({ cloudController: provider, controlPlane: { connection: connection as ConnectionName } });

  it('are a Secret made from the connection, and charts whose values name it without its content [CB-Ladybug 24]', async () => {
    const [config, controller, storage] = await Promise.all(
      ofCloud('openstack').map((one) => sources({}).desired(SHOP, one, signal)),
    );
    expect(config?.source).toMatchObject({
      kind: 'manifests',
      manifests: [
        {
          kind: 'Secret',
          stringData: {
            'cloud.conf': [
              '[Global]',
              'auth-url="https://cloud.example.org:5000/v3"',
              `application-credential-id="${'0'.repeat(32)}"`,
              'application-credential-secret="open \\"sesame\\""',
              'region="RegionOne"',
              '',
            ].join('\n'),
          },
        },
      ],
    });
    expect(controller).toMatchObject({
      values: { cluster: { name: 'team-a-shop' }, secret: { create: false, name: 'cloud-config' } },
      setBy: { connection: 'event of cloud' },
      waits: false,
    });
    expect(storage?.values).toMatchObject({ clusterID: 'team-a-shop', secret: { name: 'cloud-config' } });
    expect(JSON.stringify([controller?.values, storage?.values, ofCloud('openstack')])).not.toContain('sesame');
    expect(withoutSealed('cloud.conf: open \\"sesame\\" is refused', config?.sealed ?? [])).not.toContain('sesame');
  });

  it('name no cloud controller of a connection that does not let clusters have its credential', async () => {
    const [config] = ofCloud('openstack', 'closed');
    await expect(sources({}).desired(SHOP, config!, signal)).rejects.toThrow(
      'there is no connection closed whose settings have cloudController: true',
    );
  });

  it('of a connection with the credential of its host have no key', async () => {
    const config = cloudConfigOf('aws', { registration: 'x', region: 'eu-west-1', settings: {}, secret: undefined });
    expect(Object.keys(config)).toEqual(['cloud.conf']);
  });
});
