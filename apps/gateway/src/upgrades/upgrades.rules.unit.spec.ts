import { describe, expect, it } from '@jest/globals';
import { upgradeRequest } from './upgrades.fixtures.js';
import { faultsOfUpgrade, toUpgradeTarget } from './upgrades.rules.js';

const codes = (change: Readonly<Record<string, unknown>>): readonly string[] =>
  faultsOfUpgrade(upgradeRequest(change)).map(({ code, field }) =>
    field === undefined ? code : `${code} at ${field}`,
  );

describe('a request for an upgrade', () => {
  it('may ask for a version with or without its v, for packages, certificates and boots', () => {
    expect(codes({})).toEqual([]);
    expect(toUpgradeTarget(upgradeRequest({ version: '1.35.4' }))).toEqual({
      kubernetes: 'v1.35.4',
      renewCertificates: false,
      reboot: false,
    });
    expect(
      toUpgradeTarget(upgradeRequest({ version: undefined, software: { containerd: '1.7.24' }, reboot: true })),
    ).toEqual({ software: { containerd: '1.7.24' }, renewCertificates: false, reboot: true });
  });

  it.each([
    ['-oAPT::Update::Pre-Invoke::=id', '1.7.24'],
    ['containerd runc', '1.7.24'],
    ['/tmp/own.deb', '1.7.24'],
    ['./own', '1.7.24'],
    ['$(id)', '1.7.24'],
    ['containerd*', '1.7.24'],
    ['containerd', '-y'],
    ['containerd', '1 --allow-unauthenticated'],
    ['containerd', '1.7.24*'],
    ['containerd', '1/sid'],
    ['containerd', '`id`'],
    ['containerd', '1\n2'],
  ])('is refused where a package manager or a shell would take %s %s for more than a package', (name, desired) => {
    expect(codes({ software: { [name]: desired } })).toEqual([`upgrade.software-invalid at software.${name}`]);
  });

  it.each([
    [{ version: undefined }, ['upgrade.no-changes']],
    [{ version: 'latest' }, ['upgrade.version-invalid at version']],
    [{ software: { kubelet: '1.35.4' } }, ['upgrade.software-invalid at software.kubelet']],
    [{ software: { containerd: '' } }, ['upgrade.software-invalid at software.containerd']],
    [{ controlPlane: false, pools: [] }, ['upgrade.no-targets at controlPlane']],
    [
      { strategy: { workers: { onDrainTimeout: 'force' }, pools: { gpu: { onDrainTimeout: 'force' } } } },
      [
        'upgrade.force-unbounded at strategy.workers.forceUntil',
        'upgrade.force-unbounded at strategy.pools.gpu.forceUntil',
      ],
    ],
    ...['file:///etc/passwd', 'gopher://198.51.100.7/', 'ftp://198.51.100.7/', 'https://user:secret@shop.example/'].map(
      (url) =>
        [
          { strategy: { gates: [{ kind: 'http', name: 'shop', url }] } },
          ['upgrade.gate-url at strategy.gates[0].url'],
        ] as [Readonly<Record<string, unknown>>, readonly string[]],
    ),
    [{ overrides: [{ rule: 'Z1', reason: 'why not' }] }, ['upgrade.rule-unknown at overrides[0].rule']],
    [{ overrides: [{ rule: 'A1', reason: 'why not' }] }, ['upgrade.rule-not-overridable at overrides[0].rule']],
    [{ overrides: [{ rule: 'B4', reason: ' ' }] }, ['upgrade.reason-missing at overrides[0].reason']],
  ])('of %j is refused with %j', (change, expected) => expect(codes(change)).toEqual(expected));
});
