import { describe, expect, it } from '@jest/globals';
import { leaseChangeFaults, leaseFaults, leaseOf, ManifestLease, type ClusterLease } from './lease.js';

const NOW = '2026-01-01T00:00:00.000Z';
const parsed = (lease: object): ClusterLease =>
  leaseOf(ManifestLease.parse({ endsAt: '2026-01-08T00:00:00Z', ...lease }));
const codesOf = (lease: object, before?: ClusterLease): readonly (string | undefined)[] =>
  leaseFaults(parsed(lease), before, NOW).map(({ code, field }) => `${code} ${field}`);

describe('the lease of a manifest', () => {
  it('has a grace period of ten minutes, and warnings a day and an hour before its end', () => {
    expect(parsed({})).toEqual({
      endsAt: '2026-01-08T00:00:00.000Z',
      gracePeriod: '10m',
      warnings: ['24h', '1h'],
      reservation: 'IfSupported',
    });
  });

  it('has no default warning that would fall into its grace period', () => {
    expect(parsed({ gracePeriod: '2h' }).warnings).toEqual(['24h']);
  });

  it('is normalized to UTC, with one warning for durations of equal length', () => {
    const lease = parsed({ startsAt: '2026-01-02T01:00:00+01:00', warnings: ['60m', '1h', '3600s'] });
    expect([lease.startsAt, lease.warnings]).toEqual(['2026-01-02T00:00:00.000Z', ['60m']]);
    expect(parsed(lease)).toEqual(lease);
  });

  it('cannot be in the past, begin after its end, or warn in its grace period', () => {
    expect(codesOf({})).toEqual([]);
    expect(codesOf({ endsAt: '2026-01-01T00:10:00Z' })).toEqual(['cluster.lease-over spec.lease.endsAt']);
    expect(codesOf({ startsAt: '2026-01-07T23:50:00Z' })).toEqual(['cluster.lease-empty spec.lease.startsAt']);
    expect(codesOf({ warnings: ['2h', '10m'] })).toEqual(['cluster.lease-warning-late spec.lease.warnings[1]']);
  });

  it('is validated when it is declared, not on later changes of the manifest', () => {
    const over = { endsAt: '2025-12-31T00:00:00Z' };
    expect(codesOf(over, parsed(over))).toEqual([]);
    expect(codesOf(over, parsed({}))).toEqual(['cluster.lease-over spec.lease.endsAt']);
  });

  it('of an existing cluster can be moved and removed, but reserves nothing', () => {
    const codes = (was: object | undefined, is: object | undefined): readonly string[] =>
      leaseChangeFaults(was && parsed(was), is && parsed(is)).map(({ code }) => code);
    expect(codes({}, { endsAt: '2026-02-01T00:00:00Z', warnings: [] })).toEqual([]);
    expect(codes(undefined, {})).toEqual([]);
    expect(codes({}, undefined)).toEqual([]);
    expect(codes(undefined, { startsAt: '2026-01-02T00:00:00Z' })).toEqual(['cluster.field-immutable']);
    expect(codes(undefined, { reservation: 'Required' })).toEqual(['cluster.reservation-late']);
    expect(codes({ reservation: 'Required' }, undefined)).toEqual(['cluster.lease-reserved']);
  });
});
