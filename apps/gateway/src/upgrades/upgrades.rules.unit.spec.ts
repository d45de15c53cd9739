import { describe, expect, it } from '@jest/globals';
import { upgradeRequest } from './upgrades.fixtures.js';
import { faultsOfUpgrade, toUpgradeStrategy, toUpgradeTarget } from './upgrades.rules.js';

const JOB = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'smoke' }, spec: { backoffLimit: 0 } };
const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });

const withJob = (manifest: unknown) =>
  upgradeRequest({ strategy: { gates: [{ kind: 'job', name: 'shop', namespace: 'default', manifest }] } });

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

describe('the Job of a gate', () => {
  it.each<[string, unknown]>([
    ['an object', JOB],
    ['JSON', JSON.stringify(JOB)],
    ['YAML', 'apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: smoke\nspec:\n  backoffLimit: 0\n'],
  ])('is requested as %s, and decided as an object', (_form, manifest) => {
    const request = withJob(manifest);
    expect(faultsOfUpgrade(request)).toEqual([]);
    expect(toUpgradeStrategy(request).gates).toEqual([
      { kind: 'job', name: 'shop', namespace: 'default', manifest: JOB },
    ]);
  });

  it.each<[unknown, string]>([
    ['5', 'it is not an object'],
    ['# nothing', 'it is not an object'],
    ['kind: Pod', 'its apiVersion is missing, or is not that of a Job of batch/v1'],
    [{ ...JOB, kind: 'CronJob' }, 'its kind is missing, or is not that of a Job of batch/v1'],
    [{ ...JOB, metadata: { generateName: 'a-' } }, 'its metadata.name is missing, or is not that of a Job of batch/v1'],
    ['a: [', 'unexpected end of the stream within a flow collection (line 2, column 1)'],
    ['a: &b 1\nc: *b', 'it has YAML anchors or aliases'],
    [{ ...JOB, spec: { x: 'x'.repeat(20_000) } }, 'it has more than 16384 characters'],
    [{ ...JOB, spec: nested(30) }, 'it is nested more than 24 deep'],
    [{ ...JOB, spec: { x: Array.from({ length: 5_000 }, () => 1) } }, 'it has more than 4000 values'],
  ])('is refused when it is %j', (manifest, why) => {
    expect(faultsOfUpgrade(withJob(manifest))).toMatchObject([
      {
        code: 'upgrade.gate-manifest',
        field: 'strategy.gates[0].manifest',
        message: `The Job of gate shop is invalid: ${why}`,
      },
    ]);
  });
});
