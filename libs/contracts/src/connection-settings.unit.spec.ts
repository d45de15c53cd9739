import { describe, expect, it } from '@jest/globals';
import { isProvider, PROVIDERS, settingFaults, type ProviderName } from './connection-settings.js';
import { nearestOf } from './nearest.js';

const lab = { endpoint: 'http://127.0.0.1:7070' };
const nspawn = { stateDir: '/var/lib/hosts' };
const ssh = { hosts: [{ name: 'rack-1', address: '198.51.100.11' }] };
const openstack = {
  authUrl: 'https://cloud.example.org:5000/v3',
  applicationCredential: '2f1c7bb2e0a54ad2a5a5ab5fb2b0f1b3',
  image: 'debian-12',
};
const external = { address: 'unix:/run/provider.sock' };
const aws = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE' };
const good = { aws, external, join: {}, lab, nspawn, openstack, ssh };

const fieldsOf = (provider: ProviderName, settings: Readonly<Record<string, unknown>>): readonly string[] =>
  settingFaults(provider, settings).map(({ field }) => field);

describe('the settings of a connection', () => {
  it.each(PROVIDERS)('of %s are accepted as documented', (provider) =>
    expect(settingFaults(provider, good[provider])).toEqual([]),
  );

  it.each(
    PROVIDERS.flatMap((provider) =>
      ['apiKey', 'auth', 'passphrase', 'pwd', 'bearer', 'userData', 'notes', '__proto__x'].map((name) => ({
        provider,
        name,
      })),
    ),
  )('of $provider reject a secret under the name $name', ({ provider, name }) => {
    const faults = settingFaults(provider, { ...good[provider], [name]: 'canary' });
    expect(faults.map(({ field }) => field)).toEqual([name]);
    expect(JSON.stringify(faults)).not.toContain('canary');
  });

  it.each([
    ['endpoint', { endpoint: 'http://user:canary@127.0.0.1:7070' }],
    ['endpoint', { endpoint: 'http://canary@127.0.0.1:7070' }],
    ['endpoint', { endpoint: 'http:\\\\user:canary@127.0.0.1' }],
    ['endpoint', { endpoint: 'http://127.0.0.1:7070/?token=canary' }],
    ['endpoint', { endpoint: 'http://127.0.0.1:7070/#canary' }],
    ['endpoint', { endpoint: 'canary' }],
    ['image', { ...lab, image: 'user:canary@registry' }],
    ['image', { ...lab, image: '-----BEGIN PRIVATE KEY----- canary' }],
  ])('reject a credential inside %s: %o', (field, settings) => {
    const faults = settingFaults('lab', settings);
    expect(faults.map((fault) => fault.field)).toEqual([field]);
    expect(JSON.stringify(faults)).not.toContain('canary');
  });

  it('reject a credential at any depth', () => {
    const profile = {
      source: { kind: 'files', location: 'https://user:canary@mirror.example.org/', unsigned: true },
      imageRepository: 'user:canary@registry.example.org',
      resolvConf: '/etc/resolv.conf',
    };
    expect(fieldsOf('ssh', { ...ssh, profile })).toEqual(['profile.source.location', 'profile.imageRepository']);
    expect(
      fieldsOf('nspawn', {
        ...nspawn,
        profile: { ...profile, source: { kind: 'files', location: '/opt/m', unsigned: true } },
      }),
    ).toEqual(['profile.imageRepository']);
  });

  it.each(['/etc/shadow', '../master.key', 'a/b.tar.gz', '.', '..', '~root'])(
    'accept the name of a bundle, not a path on the service: %s',
    (path) => {
      const profile = { source: { kind: 'bundle', path, sha256: 'a'.repeat(64) } };
      expect(fieldsOf('ssh', { ...ssh, profile })).toEqual(['profile.source.path']);
      const named = { source: { ...profile.source, path: 'kubernetes-v1.34.4.tar.gz' } };
      expect(fieldsOf('ssh', { ...ssh, profile: named })).toEqual([]);
    },
  );

  it('that are misspelt are refused with the nearest known name, at any depth', () => {
    expect(settingFaults('lab', { ...lab, endpont: 'x' })).toEqual([
      { field: 'endpont', message: 'unknown setting; did you mean endpoint?' },
    ]);
    expect(settingFaults('ssh', { hosts: [{ ...ssh.hosts[0], adress: 'x' }] })).toEqual([
      { field: 'hosts[0].adress', message: 'unknown setting; did you mean address?' },
    ]);
    expect(
      settingFaults('nspawn', { ...nspawn, profile: { source: { kind: 'files', locaton: '/x' } } }),
    ).toContainEqual({
      field: 'profile.source.locaton',
      message: 'unknown setting; did you mean location?',
    });
    expect(settingFaults('lab', { ...lab, userData: 'x' })[0]?.message).toBe(
      'unknown setting; known: endpoint, image, networkCidr, peerNetworks, apiNetworks, cloudController, virtualAddresses',
    );
  });

  it('require an existing provider', () => {
    expect(PROVIDERS).toEqual(['aws', 'external', 'join', 'lab', 'nspawn', 'openstack', 'ssh']);
    expect(['lab', 'mars', 'constructor', '__proto__'].map(isProvider)).toEqual([true, false, false, false]);
  });
});

describe('the nearest name', () => {
  it.each([
    ['endpiont', 'endpoint'],
    ['Zones', 'zones'],
    ['apiAdress', 'apiAddress'],
    ['password', undefined],
    ['x'.repeat(10_000), undefined],
  ])('to %s is %s', (name, nearest) => expect(nearestOf(name, ['endpoint', 'zones', 'apiAddress'])).toBe(nearest));
});
