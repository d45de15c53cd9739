import { refuse } from '@fairlead/contracts';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { clientKeyOf, issueAuthority, issueClient } from '@fairlead/embedded/credentials';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run } from '../spec/io.fixtures.js';

const CREDENTIALS = '/ns/default/clusters/demo/autoscaler/credentials';
const EXPIRES = '2027-11-24T06:00:00.000Z';
const CREDENTIAL = {
  id: '9f2c4e6a8b0d1f35',
  kind: 'AutoscalerCredential',
  keySha256: 'ab'.repeat(32),
  createdTime: '2026-11-24T06:00:00.000Z',
  expiresAt: EXPIRES,
};

let gateway: FakeGateway;
let folder: string;
beforeEach(async () => {
  folder = newFolder('autoscaler');
  gateway = new FakeGateway();
  await gateway.start();
});
afterEach(async () => {
  await gateway.stop();
  removeFolder(folder);
});

const ask = (args: readonly string[]) => run(['--server', gateway.url, 'autoscaler', ...args], fakeIo());

/** Signs the command's CSR like the gateway. */
const signed = async (csr: string): Promise<string> => {
  const now = new Date();
  const pair = await issueAuthority({ name: 'spec', days: 1, now });
  const key = await clientKeyOf(csr);
  if ('reason' in key) throw new Error(key.reason);
  return issueClient(pair, key, { commonName: 'x', organization: 'y', notAfter: now, now });
};

describe('fairlead autoscaler credentials', () => {
  it('writes a Secret with the locally generated key, its certificate and the configuration that refers to them', async () => {
    const answer = { ...CREDENTIAL, certificate: 'certificate', caCertificate: 'authority', address: '192.0.2.1:7443' };
    gateway.on('POST', CREDENTIALS, { status: 201, body: answer });
    const file = join(folder, 'autoscaler.yaml');
    const { code, stdout } = await ask(['credentials', 'demo', '--ttl', '90d', '-o', file]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`valid until ${EXPIRES}`)]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { metadata, stringData } = parse(readFileSync(file, 'utf8'));
    expect(metadata).toMatchObject({ name: 'fairlead-autoscaler', namespace: 'kube-system' });
    expect(parse(stringData['cloud-config.yaml'])).toEqual({
      address: '192.0.2.1:7443',
      key: '/etc/fairlead/tls.key',
      cert: '/etc/fairlead/tls.crt',
      cacert: '/etc/fairlead/ca.crt',
    });
    expect(stringData).toMatchObject({ 'tls.crt': 'certificate', 'ca.crt': 'authority' });
    const { csr, ttlDays } = gateway.received.at(-1)?.body as { csr: string; ttlDays: number };
    expect(ttlDays).toBe(90);
    const spki = { type: 'spki', format: 'pem' } as const;
    expect(new X509Certificate(await signed(csr)).publicKey.export(spki)).toEqual(
      createPublicKey(stringData['tls.key']).export(spki),
    );
  });

  it('states what to do if the installation does not serve autoscalers', async () => {
    const { message, help = '' } = refuse('autoscaler.not-served');
    gateway.on('POST', CREDENTIALS, refusal(503, 'autoscaler.not-served', message, { help }));
    const { code, stderr } = await ask(['credentials', 'demo']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('AUTOSCALER_ADDRESS');
  });
});

describe('fairlead autoscaler list and revoke', () => {
  it('show which certificates are valid, and revoke one', async () => {
    gateway.on('GET', CREDENTIALS, { body: { kind: 'AutoscalerCredentialList', items: [CREDENTIAL] } });
    gateway.on('DELETE', `${CREDENTIALS}/${CREDENTIAL.id}`, { body: { kind: 'Status', code: 200, message: '' } });
    const listed = await ask(['list', 'demo']);
    expect(listed.stdout.split('\n')[1]?.split(/ {2,}/).slice(0, 3)).toEqual([
      CREDENTIAL.id,
      CREDENTIAL.createdTime,
      EXPIRES,
    ]);
    const revoked = await ask(['revoke', 'demo', CREDENTIAL.id, '--yes']);
    expect([revoked.code, revoked.stdout]).toEqual([0, expect.stringContaining('is revoked')]);
  });
});
