import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import { databaseNameOf } from './databases.js';
import { parsePostgresMajor, postgresConfig } from './postgres.config.js';

const golden = goldenBeside(import.meta.url);

describe('the configuration of PostgreSQL', () => {
  it('makes every commit reach the disk', () =>
    golden('postgresql.conf.golden', postgresConfig({ port: 20_003, durable: true })));

  it('does not wait for the disk with throwaway data, and still hands each commit to the system, so that a kill loses none', () => {
    const text = postgresConfig({ port: 20_003, durable: false });
    expect(text).toContain("fsync = 'off'");
    expect(text).toContain("synchronous_commit = 'on'");
  });
});

it.each([
  ['postgres (PostgreSQL) 18.4\n', 18],
  ['postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)', 15],
  ['postgres (PostgreSQL) 19beta1', 19],
  ['error while loading shared libraries', undefined],
])('the version in %j is %s', (output, major) => expect(parsePostgresMajor(output)).toBe(major));

it('a service and its database have one name', () => expect(databaseNameOf('infra-svc')).toBe('fairlead_infra_svc'));
