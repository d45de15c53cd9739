import { ensureCertificates } from '@fairlead/embedded';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { newFolder, removeFolder } from '@fairlead/testing';
import { Module } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { defineService } from './definition.js';
import { startService, type RunningService } from './run.service.js';

@Module({})
class Nothing {}

const definition = defineService({
  name: 'infra-svc',
  module: Nothing,
  taskConcurrency: 1,
});

const folder = newFolder('database-tls');
let environment: TestEnvironment;
let own: { readonly caFile: string; readonly serverFile: string };

/** The server reads its key only from a file that no other user can read. */
const giveToServer = (name: string, text: string): string => {
  const data = join(environment.dataDir, 'postgres', 'data');
  const file = join(data, name);
  writeFileSync(file, text, { mode: 0o600 });
  const { uid, gid } = statSync(data);
  chownSync(file, uid, gid);
  chmodSync(file, 0o600);
  return name;
};

const asSuperuser = async (...statements: readonly string[]): Promise<void> => {
  const client = new pg.Client({ connectionString: environment.databaseAdminUrl });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
};

const start = (url: string, variables: Readonly<Record<string, string>> = {}): Promise<RunningService> =>
  startService(definition, {
    NATS_URL: environment.nats.url,
    NATS_CREDS: environment.nats.credsFile('infra-svc'),
    DATABASE_URL: url,
    FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
    DEPENDENCIES_WAIT_MS: '0',
    LOG_LEVEL: 'error',
    ...variables,
  });

beforeAll(async () => {
  writeFileSync(join(folder, 'master.key'), randomBytes(32).toString('base64'));
  environment = await testEnvironment();
  await ensureStreams(await environment.connect('admin'));
  own = await ensureCertificates(join(folder, 'own'), ['127.0.0.1']);
}, 60_000);

afterAll(async () => {
  await environment?.stop();
  removeFolder(folder);
});

describe('a service that connects to its database by TLS', () => {
  const url = (parameters = ''): string => `${environment.databases['infra-svc']}${parameters}`;

  it('does not fall back to plain text if the server supports nothing else', async () => {
    await expect(start(url('?sslmode=verify-full'))).rejects.toThrow(/does not support SSL/);
  });

  it('trusts only the configured CA, and only for the host that it connects to', async () => {
    const pem = giveToServer('server.pem', readFileSync(own.serverFile, 'utf8'));
    await asSuperuser(
      `alter system set ssl_cert_file = '${pem}'`,
      `alter system set ssl_key_file = '${pem}'`,
      `alter system set ssl = 'on'`,
      'select pg_reload_conf()',
    );
    const service = await start(url(), { DATABASE_CA_FILE: own.caFile });
    const rows = await service.query<{ ssl: boolean }>(
      `select ssl from pg_stat_ssl join pg_stat_activity using (pid) where usename = current_user`,
      [],
    );
    // Connections of the pools and the leases.
    expect(rows.length).toBeGreaterThanOrEqual(2);
    expect(new Set(rows.map(({ ssl }) => ssl))).toEqual(new Set([true]));
    await service.stop();

    const stranger = await ensureCertificates(join(folder, 'stranger'), ['127.0.0.1']);
    await expect(start(url(), { DATABASE_CA_FILE: stranger.caFile })).rejects.toThrow(/certificate|issuer/);
    await expect(start(url('?sslmode=verify-full'))).rejects.toThrow(/certificate|issuer/);
    const byName = url().replace('127.0.0.1', 'localhost');
    await expect(start(byName, { DATABASE_CA_FILE: own.caFile })).rejects.toThrow(/altnames|does not match/);
  }, 60_000);

  it('does not start with a plain-text URL of another machine', async () => {
    const far = 'postgres://u:p@192.0.2.1:5432/x';
    await expect(start(`${far}?sslmode=disable`)).rejects.toThrow(/DATABASE_URL: .*plain text/);
    await expect(start(`${far}?sslmode=require`)).rejects.toThrow(/DATABASE_URL: .*does not check who answers/);
  });
});
