import { createHash, createPublicKey, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import { certificateIn, keyIn } from './authorities.js';

/*
 * Certificates of an installation's own CAs. A pair is a certificate and its key, PEM, in one text, so that a crash
 * cannot leave one without the other.
 */

const DAY_MS = 24 * 60 * 60 * 1000;
/** With slightly different clocks, a verifier must not see a certificate from the future. */
const BACKDATE_MS = 5 * 60 * 1000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** Loaded only to issue a certificate: it takes as long as everything else at startup. */
const x509Library = async () => {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  return x509;
};

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

const serialNumber = (): string => Buffer.from(webcrypto.getRandomValues(new Uint8Array(8))).toString('hex');

const validUntil = (notAfter: Date, now: Date) => ({
  notBefore: new Date(now.getTime() - BACKDATE_MS),
  notAfter,
});

const inDays = (days: number, now: Date): Date => new Date(now.getTime() + days * DAY_MS);

const pairOf = async (certificate: ArrayBuffer, key: webcrypto.CryptoKey): Promise<string> => {
  const { PemConverter } = await x509Library();
  const exported = await webcrypto.subtle.exportKey('pkcs8', key);
  return [PemConverter.encode(certificate, 'CERTIFICATE'), PemConverter.encode(exported, 'PRIVATE KEY')]
    .map((pem) => `${pem.trim()}\n`)
    .join('');
};

const signerOf = async (pair: string) => {
  const x509 = await x509Library();
  const issuer = new x509.X509Certificate(certificateIn(pair));
  const der = x509.PemConverter.decodeFirst(keyIn(pair));
  const signingKey = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
  return { x509, issuer, signingKey };
};

export interface AuthorityDemand {
  /** Its common name. */
  readonly name: string;
  readonly days: number;
  readonly now: Date;
}

/** A pair that signs others. */
export const issueAuthority = async ({ name, days, now }: AuthorityDemand): Promise<string> => {
  const x509 = await x509Library();
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: [{ CN: [name] }],
    ...validUntil(inDays(days, now), now),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pairOf(certificate.rawData, keys.privateKey);
};

export interface ServerDemand extends AuthorityDemand {
  /** The DNS names and addresses of the server. */
  readonly names: readonly string[];
  /** It is also a client of servers of its own kind. */
  readonly isPeer?: boolean;
}

/** A server's pair, signed by the CA's pair. */
export const issueServer = async (
  authority: string,
  { name, names, isPeer = false, days, now }: ServerDemand,
): Promise<string> => {
  const { x509, issuer, signingKey } = await signerOf(authority);
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [name] }],
    issuer: issuer.subject,
    ...validUntil(inDays(days, now), now),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        ...(isPeer ? [x509.ExtendedKeyUsage.clientAuth] : []),
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })),
      ),
    ],
  });
  return pairOf(certificate.rawData, keys.privateKey);
};

/** A client's signing request: its public key, and proof of the private one. */
export interface ClientKey {
  /** SHA-256 of the SubjectPublicKeyInfo, DER; lowercase hex. */
  readonly sha256: string;
  readonly csr: string;
}

const RSA_BITS_MIN = 2_048;
const RSA_BITS_MAX = 8_192;
const CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1']);

/** Hash of a public key, SubjectPublicKeyInfo in DER. */
export const keySha256 = (spki: Uint8Array): string => createHash('sha256').update(spki).digest('hex');

const weaknessOf = (spki: Uint8Array): string | undefined => {
  const { asymmetricKeyType, asymmetricKeyDetails = {} } = createPublicKey({
    key: Buffer.from(spki),
    format: 'der',
    type: 'spki',
  });
  const { namedCurve = '', modulusLength = 0 } = asymmetricKeyDetails;
  if (asymmetricKeyType === 'ec' && CURVES.has(namedCurve)) return undefined;
  if (asymmetricKeyType === 'rsa' && modulusLength >= RSA_BITS_MIN && modulusLength <= RSA_BITS_MAX) return undefined;
  return `a key of type ${asymmetricKeyType} ${namedCurve}${modulusLength === 0 ? '' : `${modulusLength} bit`} is not accepted`;
};

/** The key in a certificate request (PKCS#10, PEM), or why it is not signed. The request is untrusted. */
export const clientKeyOf = async (csr: string): Promise<ClientKey | { readonly reason: string }> => {
  const x509 = await x509Library();
  try {
    const request = new x509.Pkcs10CertificateRequest(csr);
    const spki = new Uint8Array(request.publicKey.rawData);
    const weakness = weaknessOf(spki);
    if (weakness !== undefined) return { reason: weakness };
    if (!(await request.verify())) return { reason: 'its signature is not that of its key' };
    return { sha256: keySha256(spki), csr };
  } catch {
    return { reason: 'it is not a PKCS#10 request in PEM' };
  }
};

export interface ClientDemand {
  readonly commonName: string;
  readonly organization: string;
  readonly notAfter: Date;
  readonly now: Date;
}

/** A client certificate for the key, PEM, with the names given here and none of the request. */
export const issueClient = async (
  authority: string,
  { csr }: ClientKey,
  { commonName, organization, notAfter, now }: ClientDemand,
): Promise<string> => {
  const { x509, issuer, signingKey } = await signerOf(authority);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ O: [organization] }, { CN: [commonName] }],
    issuer: issuer.subject,
    ...validUntil(notAfter, now),
    publicKey: new x509.Pkcs10CertificateRequest(csr).publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return `${certificate.toString('pem').trim()}\n`;
};

/** A new key and a client certificate request for it. Both PEM. */
export const newClientRequest = async (commonName: string): Promise<{ readonly key: string; readonly csr: string }> => {
  const x509 = await x509Library();
  const keys = await newKeys();
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: ALGORITHM,
  });
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { key: `${key.trim()}\n`, csr: `${csr.toString('pem').trim()}\n` };
};
