import { describe, expect, it } from '@jest/globals';
import { referenceIn } from './conformance.js';
import { sourcesOf } from './debian.js';
import { distributionNamed } from './options.js';

describe('packages', () => {
  it("come from the machine's archives, for the distribution of the hosts, with security updates", () => {
    const archives = [
      'http://mirror.example/debian/',
      'http://mirror.example/debian-security/',
      'https://tools.example/apt/',
    ];
    expect(sourcesOf(distributionNamed('debian-13'), archives).split('\n')).toEqual([
      'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian/ trixie main',
      'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian-security/ trixie-security main',
      '',
    ]);
  });

  it('are refused for a distribution without a known archive, with the list of the known ones', () => {
    expect(() => sourcesOf(distributionNamed('ubuntu-24.04'), ['http://mirror.example/debian/'])).toThrow(
      /no archive of ubuntu-24\.04 \(it has http:\/\/mirror\.example\/debian\/\)/,
    );
  });
});

describe('a test image', () => {
  /** From test/utils/image/manifest.go, v1.34.4. */
  const MANIFEST = `
	configs[Agnhost] = Config{list.PromoterE2eRegistry, "agnhost", "2.56"}
	configs[AgnhostPrivate] = Config{list.PrivateRegistry, "agnhost", "2.6"}
	configs[BusyBox] = Config{list.PromoterE2eRegistry, "busybox", "1.37.0-1"}
`;

  it('has the tag that the tests of that version use', () => {
    expect(referenceIn(MANIFEST, 'Agnhost')).toBe('registry.k8s.io/e2e-test-images/agnhost:2.56');
    expect(referenceIn(MANIFEST, 'BusyBox')).toBe('registry.k8s.io/e2e-test-images/busybox:1.37.0-1');
  });

  it('has no tag if the tests do not use it', () => expect(referenceIn(MANIFEST, 'JessieDnsutils')).toBeUndefined());
});
