import { describe, expect, it } from '@jest/globals';
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { X509Certificate } from 'node:crypto';
import { CertificateAuthority } from './certificate.authority.js';

const NOW_MS = Date.UTC(2026, 0, 20, 10);
const LONG_NAME = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.example`;
const NAMES = ['localhost', '10.0.0.1', 'fd00::1', LONG_NAME];

const extensionsOf = (pem: string): string[] => new x509.X509Certificate(pem).extensions.map(({ type }) => type);

/** Parsed by OpenSSL, which is independent of the code that writes them. */
describe('certificates of the lab', () => {
  it('an authority is self-signed and valid for ten years', async () => {
    const { pair } = await CertificateAuthority.create(NOW_MS);
    const ca = new X509Certificate(pair.certPem);
    expect([ca.subject, ca.ca, ca.checkIssued(ca), ca.verify(ca.publicKey)]).toEqual([
      'CN=kubernetes',
      true,
      true,
      true,
    ]);
    expect(new Date(ca.validTo).getTime()).toBe(NOW_MS + 3650 * 86_400_000);
    expect(extensionsOf(pair.certPem)).toEqual(['2.5.29.19', '2.5.29.15']);
  });

  it('a server has its names and addresses, a client its groups; both are signed, also by a restored authority', async () => {
    const { pair } = await CertificateAuthority.create(NOW_MS);
    const ca = new X509Certificate(pair.certPem);
    const authority = CertificateAuthority.load(pair);
    const server = await authority.issue({ commonName: 'kube-apiserver', usage: 'server', sans: NAMES }, NOW_MS);
    const groups = ['system:masters', 'system:nodes'];
    const client = await authority.issue({ commonName: 'admin', organizations: groups, usage: 'client' }, NOW_MS);
    const [serving, asking] = [server, client].map(({ certPem }) => new X509Certificate(certPem));
    for (const one of [serving!, asking!])
      expect([one.checkIssued(ca), one.verify(ca.publicKey)]).toEqual([true, true]);
    for (const name of ['localhost', LONG_NAME]) expect(serving?.checkHost(name)).toBe(name);
    for (const address of ['10.0.0.1', 'fd00::1']) expect(serving?.checkIP(address)).toBe(address);
    expect(asking?.subject).toBe('O=system:masters\nO=system:nodes\nCN=admin');
    expect([serving?.keyUsage, asking?.keyUsage]).toEqual([['1.3.6.1.5.5.7.3.1'], ['1.3.6.1.5.5.7.3.2']]);
    expect(new x509.X509Certificate(server.certPem).notBefore.getTime()).toBe(NOW_MS - 300_000);
  });

  it('certificates can expire after 2049', async () => {
    const { pair } = await CertificateAuthority.create(Date.UTC(2045, 5, 1));
    expect(new Date(new X509Certificate(pair.certPem).validTo).getUTCFullYear()).toBe(2055);
  });
});
