import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { webcrypto } from 'node:crypto';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

x509.cryptoProvider.set(webcrypto);

/** A new private key and a certificate signing request for it. Both PEM. */
export interface ClientRequest {
  readonly key: string;
  readonly csr: string;
}

/** The common name is the user, the organization its group (RFC 2986; ECDSA P-256). */
export const newClientRequest = async (user: string, group: string): Promise<ClientRequest> => {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ O: [group] }, { CN: [user] }],
    keys,
    signingAlgorithm: ALGORITHM,
  });
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { key: `${key}\n`, csr: `${csr.toString('pem')}\n` };
};
