import { X509Certificate } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { startEnvironment, type Environment } from '../environment/environment.js';
import { throwawayFolder } from '../environment/throwaway-folder.js';
import { ensureCertificates, natsTrustIn } from './authority.store.js';
import { authenticatorOf } from './creds.js';

jest.setTimeout(120_000); // For a busy machine; each wait in a test has its own deadline.

const NAMES = ['nats', '192.0.2.1'];
const DAY_MS = 24 * 60 * 60 * 1000;

describe('the certificate of NATS', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = throwawayFolder();
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('is created once, contains every name, is signed by the CA, and is readable only by its owner', async () => {
    const { caFile, serverFile } = await ensureCertificates(dataDir, NAMES);
    const texts = [caFile, serverFile].map((file) => readFileSync(file, 'utf8'));
    const [ca, server] = texts.map((text) => new X509Certificate(text));
    expect([server?.checkHost('nats'), server?.checkIP('192.0.2.1')]).toEqual(['nats', '192.0.2.1']);
    expect([server?.verify(ca?.publicKey ?? never()), ca?.ca, server?.ca]).toEqual([true, true, false]);
    expect([caFile, serverFile].map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
    expect(texts[0]).not.toContain('PRIVATE KEY');
    await ensureCertificates(dataDir, ['nats']);
    expect([caFile, serverFile].map((file) => readFileSync(file, 'utf8'))).toEqual(texts);
  });

  it('is recreated for a new name, and a year before it expires; the CA stays', async () => {
    const { caFile, serverFile } = await ensureCertificates(dataDir, NAMES);
    const read = () => [readFileSync(caFile, 'utf8'), readFileSync(serverFile, 'utf8')] as const;
    const first = read();
    await ensureCertificates(dataDir, ['nats', 'nats.example.org']);
    const second = read();
    expect(second[0]).toBe(first[0]);
    expect(new X509Certificate(second[1]).checkHost('nats.example.org')).toBe('nats.example.org');
    const end = Date.parse(new X509Certificate(second[1]).validTo);
    await ensureCertificates(dataDir, ['nats'], { now: new Date(end - 366 * DAY_MS) });
    expect(read()).toEqual(second);
    await ensureCertificates(dataDir, ['nats'], { now: new Date(end - 364 * DAY_MS) });
    expect(read()[1]).not.toBe(second[1]);
  });

  it('is recreated if another CA signed it', async () => {
    const { serverFile } = await ensureCertificates(dataDir, NAMES);
    const other = throwawayFolder();
    try {
      const foreign = await ensureCertificates(other, NAMES);
      writeFileSync(serverFile, readFileSync(foreign.serverFile));
      const { caFile } = await ensureCertificates(dataDir, NAMES);
      const [ca, server] = [caFile, serverFile].map((file) => new X509Certificate(readFileSync(file)));
      expect(server?.verify(ca?.publicKey ?? never())).toBe(true);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });
});

describe('a NATS server that listens beyond loopback', () => {
  const dataDir = throwawayFolder();
  let environment: Environment;

  beforeAll(async () => {
    const { NATS_URL: _nats, DATABASE_URL: _database, ...env } = process.env;
    environment = await startEnvironment({ dataDir, env, natsHost: '127.0.0.7', durable: false });
  });
  afterAll(async () => {
    await environment.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const connecting = (url: string, caFile: string | undefined) => {
    const credsFile = environment.nats.credsFile('admin') ?? never();
    const authenticator = authenticatorOf(readFileSync(credsFile, 'utf8'));
    return connect({ servers: url, authenticator, reconnect: false, timeout: 10_000, ...natsTrustIn(caFile, [url]) });
  };

  it('accepts TLS connections from clients that trust its CA', async () => {
    const { url, caFile } = environment.nats;
    expect(url).toMatch(/^tls:\/\/127\.0\.0\.7:\d+$/);
    const connection = await connecting(url, caFile);
    expect(connection.info?.tls_required).toBe(true);
    await connection.flush();
    await connection.close();
  });

  it('is rejected by a client that trusts another CA', async () => {
    await expect(connecting(environment.nats.url, undefined)).rejects.toThrow(/certificate|signed/i);
    const other = throwawayFolder();
    try {
      const { caFile } = await ensureCertificates(other, ['127.0.0.7']);
      await expect(connecting(environment.nats.url, caFile)).rejects.toThrow(/certificate|signature/i);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it('is rejected at an address that its certificate does not contain', async () => {
    const { url, caFile } = environment.nats;
    const authenticator = authenticatorOf(readFileSync(environment.nats.credsFile('admin') ?? never(), 'utf8'));
    const elsewhere = natsTrustIn(caFile, ['tls://127.0.0.8:4222']);
    await expect(
      connect({ servers: url, authenticator, reconnect: false, timeout: 10_000, ...elsewhere }),
    ).rejects.toThrow(/altnames/i);
  });
});

const never = (): never => {
  throw new Error('it is there');
};
