import { describe, expect, it } from '@jest/globals';
import { settingFaults } from './connection-settings.js';
import { mirrorPaths, NODE_BINARIES } from './mirror.js';
import { KUBERNETES_RELEASES } from './software.js';
import { pinnedSha256 } from './software.digests.js';
import { parseSignatures, signedStatement, usesCatalogue } from './software.trust.js';

const SHA = 'a'.repeat(64);
const KEY = `ed25519:${'A'.repeat(43)}=`;

const faultsOf = (source: Readonly<Record<string, unknown>>): readonly string[] =>
  settingFaults('ssh', {
    hosts: [{ name: 'rack-1', address: '198.51.100.11' }],
    profile: { source: { kind: 'files', ...source } },
  }).map(({ field, message }) => `${field} ${message}`);

describe('the digests that Fairlead knows', () => {
  it.each(KUBERNETES_RELEASES.map(({ version, cniPlugins }) => ({ version, cniPlugins })))(
    'are distinct for every program of $version, for both architectures',
    ({ version, cniPlugins }) => {
      const digests = (['amd64', 'arm64'] as const).flatMap((architecture) => [
        ...NODE_BINARIES.map((name) => pinnedSha256(mirrorPaths.binary(version, name, architecture))),
        pinnedSha256(mirrorPaths.cniPlugins(cniPlugins, architecture)),
      ]);
      for (const digest of digests) expect(digest).toMatch(/^[0-9a-f]{64}$/);
      expect(new Set(digests).size).toBe(digests.length);
    },
  );

  it('exclude releases that it does not know', () => {
    expect(pinnedSha256(mirrorPaths.binary('v1.34.99', 'kubelet'))).toBeUndefined();
    expect(pinnedSha256('constructor')).toBeUndefined();
  });
});

describe('a mirror that a connection names', () => {
  const mirror = 'https://mirror.example.org/kubernetes';

  it.each([
    { location: 'https://dl.k8s.io' },
    { location: 'https://dl.k8s.io/' },
    { location: mirror, catalogueSha256: SHA },
    { location: mirror, signedBy: [KEY] },
    { location: mirror, signedBy: [KEY], catalogueSha256: SHA },
    { location: mirror, unsigned: true },
    { location: '/opt/mirror', unsigned: true },
    { location: 'http://mirror.example.org', catalogueSha256: SHA },
    { location: 'http://mirror.example.org', signedBy: [KEY] },
    { location: 'http://mirror.example.org', digests: { [mirrorPaths.binary('v1.34.4', 'kubelet')]: SHA } },
  ])('is accepted if its files can be verified: %o', (source) => expect(faultsOf(source)).toEqual([]));

  it.each([mirror, '/opt/mirror', 'http://dl.k8s.io', 'https://dl.k8s.io.example.org'])(
    'is refused if its files cannot be verified: %s',
    (location) => {
      expect(faultsOf({ location })).toEqual([
        expect.stringMatching(/^profile\.source\.location says nothing by which its files can be checked/),
      ]);
    },
  );

  it.each(['http://mirror.example.org', 'HTTP://mirror.example.org'])('is not used unsigned over %s', (location) =>
    expect(faultsOf({ location, unsigned: true })).toEqual([expect.stringContaining('is http')]),
  );

  it.each([{ catalogueSha256: SHA }, { signedBy: [KEY] }])('is not both unsigned and verified: %o', (trust) =>
    expect(faultsOf({ location: mirror, unsigned: true, ...trust })).toHaveLength(1),
  );

  it.each([
    ['catalogueSha256', { catalogueSha256: 'abc' }],
    ['signedBy[0]', { signedBy: ['ed25519:abc'] }],
    ['signedBy', { signedBy: [] }],
    ['unsigned', { unsigned: false }],
  ])('requires a valid %s', (field, trust) =>
    expect(faultsOf({ location: mirror, ...trust }).join()).toContain(`profile.source.${field}`),
  );

  it('names no file outside itself', () =>
    expect(faultsOf({ location: mirror, digests: { '../kubelet': SHA } })).not.toEqual([]));

  it('has a catalogue that is trusted only if something vouches for it', () => {
    expect([{ catalogueSha256: SHA }, { signedBy: [KEY] }, { unsigned: true as const }].map(usesCatalogue)).toEqual([
      true,
      true,
      true,
    ]);
    expect([{}, { digests: {} }].map(usesCatalogue)).toEqual([false, false]);
  });
});

describe('a file of signatures', () => {
  const line = `${KEY} ${'B'.repeat(86)}==`;

  it('is parsed line by line, and invalid lines are ignored', () =>
    expect(parseSignatures(`# ours\n${line}\n${KEY} short\n`)).toEqual([
      { key: KEY, signature: `${'B'.repeat(86)}==` },
    ]));

  it('is parsed only up to its maximum length', () =>
    expect(parseSignatures(`${line}\n`.repeat(1_000))).toHaveLength(8));

  it('of a bundle is not valid for a catalogue', () =>
    expect(signedStatement('bundle', SHA)).not.toBe(signedStatement('catalogue', SHA)));
});
