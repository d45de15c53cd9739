import 'reflect-metadata';
import { BasicConstraintsExtension, X509CertificateGenerator } from '@peculiar/x509';
import { expect, it } from '@jest/globals';
import { MemoryHost } from '../../test/memory.host.js';
import { certificatesOn } from './certificates.js';

const CURRENT = '/var/lib/kubelet/pki/kubelet-client-current.pem';
const CONF = '/etc/kubernetes/kubelet.conf';

const pemUntil = async (notAfter: string): Promise<string> => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'O=system:nodes, CN=system:node:demo-w-1',
    notBefore: new Date('2025-01-01'),
    notAfter: new Date(notAfter),
    keys: await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']),
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(false)],
  });
  return certificate.toString('pem');
};

it('the certificate of a kubelet is the one that it starts with, also in a kubeconfig that was made by hand', async () => {
  const host = new MemoryHost();
  const ends = async (): Promise<unknown> => await certificatesOn(host, 'worker');
  host.files.set(CURRENT, await pemUntil('2027-03-01'));
  host.files.set(CONF, `users:\n- user:\n    client-certificate: ${CURRENT}\n`);
  expect(await ends()).toEqual([{ name: 'kubelet', expiresAt: '2027-03-01T00:00:00.000Z' }]);
  const given = Buffer.from(await pemUntil('2026-12-01')).toString('base64');
  host.files.set(CONF, `users:\n- user:\n    client-certificate-data: ${given}\n    client-key-data: eA==\n`);
  expect(await ends()).toEqual([{ name: 'kubelet', expiresAt: '2026-12-01T00:00:00.000Z' }]);
});
