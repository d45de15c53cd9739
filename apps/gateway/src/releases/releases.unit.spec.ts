import {
  isRefusal,
  KUBERNETES_RELEASES,
  parseReleaseCatalogue,
  RELEASE_CATALOGUE_FORMAT,
  releaseOf,
  type Fact,
  type KubernetesRelease,
  type ReleaseCatalogue,
  type StoredEvent,
} from '@fairlead/contracts';
import {
  findRelease,
  knownReleases,
  NO_OWN_RELEASES,
  offeredReleases,
  ownReleasesAfter,
  OWN_RELEASES_MAX,
  rowsBeyondBuiltIn,
  type OwnReleases,
} from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { releases } from './releases.decider.js';

const SIGNER = `ed25519:${'A'.repeat(43)}=`;
const OTHER = `ed25519:${'B'.repeat(43)}=`;
const NOW = '2026-11-28T12:00:00.000Z';
const LATER = '2026-12-31T00:00:00Z';

const row = (version: string, changes: Partial<KubernetesRelease> = {}): KubernetesRelease => ({
  ...releaseOf('v1.34.4')!,
  version,
  verified: 'listed',
  sha256: null,
  ...changes,
});

const catalogue = (sequence: number, changes: Partial<ReleaseCatalogue> = {}): ReleaseCatalogue => ({
  format: RELEASE_CATALOGUE_FORMAT,
  sequence,
  expires: LATER,
  releases: [row('v1.34.12')],
  withdrawn: [],
  ...changes,
});

type Command = Parameters<typeof releases.decide>[1];

/** A log of the installation's releases. */
class Log {
  own: OwnReleases = NO_OWN_RELEASES;

  readonly decide = (command: Command): readonly Fact[] | string => {
    const decided = releases.decide(this.own, command);
    if (isRefusal(decided)) return decided.code;
    for (const fact of decided)
      this.own = ownReleasesAfter(this.own, { ...fact, meta: { time: NOW } } as unknown as StoredEvent);
    return decided;
  };

  readonly accept = (document: ReleaseCatalogue, { signer = SIGNER, sha256 = String(document.sequence) } = {}) =>
    this.decide({ type: 'AcceptReleaseCatalogue', data: { catalogue: document, signer, sha256, now: NOW } });

  readonly add = (release: KubernetesRelease) => this.decide({ type: 'AddRelease', data: { release } });
  readonly withdraw = (version: string, reason: string) =>
    this.decide({ type: 'WithdrawRelease', data: { version, reason } });
}

const trusting = (...signers: readonly string[]): Log => {
  const log = new Log();
  log.decide({ type: 'SetReleaseSigners', data: { signers } });
  return log;
};

const versionsOf = (some: readonly KubernetesRelease[]): readonly string[] => some.map(({ version }) => version);

describe('a signed catalogue of releases', () => {
  it('adds its rows to the built-in ones, and states only what is new or has changed', () => {
    const log = trusting(SIGNER);
    const same = releaseOf('v1.34.4')!;
    const changed = { ...releaseOf('v1.34.5')!, verified: 'real' as const };
    expect(log.accept(catalogue(7, { releases: [same, changed, row('v1.37.0')] }))).toMatchObject([
      { type: 'ReleaseCatalogueAccepted', data: { signer: SIGNER, sequence: 7, releases: [changed, row('v1.37.0')] } },
    ]);
    expect(versionsOf(knownReleases(log.own))).toEqual([...versionsOf(KUBERNETES_RELEASES), 'v1.37.0']);
    expect(findRelease(log.own, 'v1.34.5')?.verified).toBe('real');
  });

  it('is not accepted again: neither the same sequence with another text, nor an earlier one', () => {
    const log = trusting(SIGNER, OTHER);
    log.accept(catalogue(7));
    expect(log.accept(catalogue(7))).toEqual([]);
    expect(log.accept(catalogue(7), { sha256: 'another' })).toBe('release.catalogue-replayed');
    expect(log.accept(catalogue(6))).toBe('release.catalogue-replayed');
    expect(log.accept(catalogue(1), { signer: OTHER })).toHaveLength(1);
    expect(log.accept(catalogue(8))).toHaveLength(1);
  });

  it('is not accepted after its end, nor of a signer who is no longer trusted', () => {
    const log = trusting(SIGNER);
    expect(log.accept(catalogue(7, { expires: NOW }))).toBe('release.catalogue-expired');
    expect(log.accept(catalogue(7), { signer: OTHER })).toBe('release.catalogue-unsigned');
    log.decide({ type: 'SetReleaseSigners', data: { signers: [] } });
    expect(log.accept(catalogue(7))).toBe('release.catalogue-unsigned');
  });

  it('withdraws releases that are known, once, and its next one does not bring them back', () => {
    const log = trusting(SIGNER);
    const withdrawn = [
      { version: 'v1.34.12', reason: 'CVE-2026-0001' },
      { version: 'v1.99.0', reason: 'never was' },
    ];
    expect(log.accept(catalogue(7, { withdrawn }))).toMatchObject([{ data: { withdrawn: [withdrawn[0]] } }]);
    expect(log.accept(catalogue(8, { withdrawn }))).toMatchObject([{ data: { withdrawn: [], releases: [] } }]);
    expect(versionsOf(offeredReleases(log.own))).not.toContain('v1.34.12');
    expect(findRelease(log.own, 'v1.34.12')).toBeDefined();
  });
});

describe('a release', () => {
  it('is added, and replaced, but stated only where something is another', () => {
    const log = new Log();
    expect(log.add(releaseOf('v1.34.4')!)).toEqual([]);
    expect(log.add(row('v1.34.12'))).toEqual([{ type: 'ReleaseAdded', data: { release: row('v1.34.12') } }]);
    expect(log.add(row('v1.34.12'))).toEqual([]);
    expect(log.add(row('v1.34.12', { etcd: '3.6.6-0' }))).toHaveLength(1);
    expect(rowsBeyondBuiltIn(log.own, ['v1.34.4', 'v1.34.12', 'v1.34.12'])).toEqual([
      row('v1.34.12', { etcd: '3.6.6-0' }),
    ]);
  });

  it('that is withdrawn stays known and is not offered, until it is added again', () => {
    const log = new Log();
    expect(log.withdraw('v1.34.99', 'no such')).toBe('release.not-found');
    expect(log.withdraw('v1.34.4', 'its kubelet loses mounts')).toHaveLength(1);
    expect(log.withdraw('v1.34.4', 'its kubelet loses mounts')).toEqual([]);
    expect(versionsOf(offeredReleases(log.own))).not.toContain('v1.34.4');
    expect(versionsOf(knownReleases(log.own))).toContain('v1.34.4');
    expect(log.add(releaseOf('v1.34.4')!)).toHaveLength(1);
    expect(versionsOf(offeredReleases(log.own))).toContain('v1.34.4');
  });

  it('is one of a bounded number', () => {
    const log = trusting(SIGNER);
    for (let at = 0; at < OWN_RELEASES_MAX; at += 1) log.add(row(`v1.${100 + Math.floor(at / 100)}.${at % 100}`));
    expect(log.own.releases.size).toBe(OWN_RELEASES_MAX);
    expect(log.add(row('v1.99.0'))).toBe('release.too-many');
    expect(log.accept(catalogue(7))).toBe('release.too-many');
  });
});

describe('the text of a catalogue', () => {
  const textOf = (document: object): string => JSON.stringify({ ...catalogue(1), ...document });
  const refusedFor = (text: string): string => {
    const read = parseReleaseCatalogue(text);
    return isRefusal(read) ? read.message : '';
  };

  it('is read as what was signed', () => expect(parseReleaseCatalogue(textOf({}))).toEqual(catalogue(1)));

  it.each([
    ['no JSON', '{'],
    ['another format', textOf({ format: 'fairlead-releases/9' })],
    ['a field that it does not have', textOf({ more: 1 })],
    ['no sequence', textOf({ sequence: 0 })],
    ['an end that is no time', textOf({ expires: 'never' })],
    ['a version that is none', textOf({ releases: [row('v1.34.4; reboot')] })],
    ['a tag that ends a line of a script', textOf({ releases: [row('v1.34.12', { etcd: '3.6.5-0\nreboot' })] })],
    ['a tag that is a template', textOf({ releases: [row('v1.34.12', { pause: '$(reboot)' })] })],
    ['another API of kubeadm', textOf({ releases: [{ ...row('v1.34.12'), kubeadmApi: 'kubeadm.k8s.io/v9' }] })],
    ['a reason that moves the cursor', textOf({ withdrawn: [{ version: 'v1.34.4', reason: '\u001b[2J' }] })],
    ['a release twice', textOf({ releases: [row('v1.34.12'), row('v1.34.12')] })],
    ['more releases than it may have', textOf({ releases: Array.from({ length: 201 }, (_, at) => row(`v1.1.${at}`)) })],
    ['more text than it may have', textOf({ releases: [] }).padEnd(200_001)],
    ['an object that is nested without end', `{"format":${'['.repeat(100_000)}`],
  ])('is refused with %s', (_what, text) => expect(refusedFor(text)).toMatch(/^The catalogue cannot be used: ./));
});
