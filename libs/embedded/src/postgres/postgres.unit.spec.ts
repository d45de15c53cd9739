import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder, removeFolder } from '@fairlead/testing';
import { goldenBeside } from '@fairlead/testing/golden';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { databaseNameOf } from './databases.js';
import { cachedDebianPostgres } from './debian.binaries.js';
import { parsePostgresVersion, postgresConfig } from './postgres.config.js';

const golden = goldenBeside(import.meta.url);

describe('the configuration of PostgreSQL', () => {
  it('makes every commit durable', () =>
    golden('postgresql.conf.golden', postgresConfig({ port: 20_003, durable: true })));

  it('does not wait for the disk with throwaway data, but hands each commit to the system, so that a kill loses none', () => {
    const text = postgresConfig({ port: 20_003, durable: false });
    expect(text).toContain("fsync = 'off'");
    expect(text).toContain("synchronous_commit = 'on'");
  });
});

it.each([
  ['postgres (PostgreSQL) 18.4\n', { version: '18.4', major: 18 }],
  ['postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)', { version: '15.18', major: 15 }],
  ['postgres (PostgreSQL) 19beta1', { version: '19beta1', major: 19 }],
  ['error while loading shared libraries', undefined],
])('the version in %j is %o', (output, version) => expect(parsePostgresVersion(output)).toEqual(version));

it('a service and its database share a name', () => expect(databaseNameOf('infra-svc')).toBe('fairlead_infra_svc'));

describe('cached servers of Debian', () => {
  let cacheDir: string;
  beforeEach(() => {
    cacheDir = newFolder('cache');
  });
  afterEach(() => removeFolder(cacheDir));

  const keep = (version: string): string => {
    const folder = join(cacheDir, `postgresql-${version}`);
    mkdirSync(join(folder, 'usr/lib/postgresql', version.split('.')[0] ?? '', 'bin'), { recursive: true });
    mkdirSync(join(folder, 'usr/lib/x86_64-linux-gnu'));
    return folder;
  };

  it('are offered with their libraries, newest first', () => {
    for (const version of ['15.9', '17.2', '15.18']) keep(version);
    const found = cachedDebianPostgres(cacheDir);
    expect(found.map(({ major }) => major)).toEqual([17, 15, 15]);
    expect(found[1]).toEqual({
      binDir: join(cacheDir, 'postgresql-15.18/usr/lib/postgresql/15/bin'),
      libDir: join(cacheDir, 'postgresql-15.18/usr/lib/x86_64-linux-gnu'),
      major: 15,
    });
  });

  it('are not used if another user can have replaced them', () => {
    chmodSync(keep('15.18'), 0o777);
    expect(cachedDebianPostgres(cacheDir)).toEqual([]);
  });
});
