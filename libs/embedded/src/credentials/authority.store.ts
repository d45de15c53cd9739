import { X509Certificate, webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { readIfAny, writeWhole } from '../folder/files.js';
import { natsTrust, type NatsTrust } from './trust.js';

/** What a NATS server shows of itself, and what its clients must trust; each is a file that only its owner may read. */
export interface NatsCertificates {
  /** The certificate of the authority: the one certificate that services and agents trust. */
  readonly caFile: string;
  /** The server's certificate and its key, in one file. */
  readonly serverFile: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Agents hold the authority's certificate for as long as their host lives. */
const AUTHORITY_DAYS = 3650;
/** The server reads its certificate when it starts, and a server of a control plane may run for very long. */
const SERVER_DAYS = 3650;
/** At a start, a server's certificate that ends within this is made anew. */
const RENEW_WITHIN_DAYS = 365;
/** Hosts whose clocks differ a little must not meet a certificate from the future. */
const BACKDATE_MS = 5 * 60 * 1000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/;
const KEY = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n/;

/**
 * An authority of this installation's own and a certificate for its NATS server, in `<dataDir>/keys`, made once. The server's is
 * made anew when it does not carry one of the names (DNS names or addresses), or ends within a year.
 */
export const ensureCertificates = async (
  dataDir: string,
  names: readonly string[],
  now = new Date(),
): Promise<NatsCertificates> => {
  const keys = join(dataDir, 'keys');
  const authorityFile = join(keys, 'nats-authority.pem');
  const caFile = join(keys, 'nats-ca.pem');
  const serverFile = join(keys, 'nats-server.pem');
  const authority = readIfAny(authorityFile) ?? (await makeAuthority(now));
  if (readIfAny(authorityFile) === undefined) writeWhole(authorityFile, authority);
  const ca = certificateIn(authority);
  if (readIfAny(caFile) !== ca) writeWhole(caFile, ca);
  if (!serves(readIfAny(serverFile), { ca, names, now }))
    writeWhole(serverFile, await issueServer(authority, names, now));
  return { caFile, serverFile };
};

interface Demand {
  readonly ca: string;
  readonly names: readonly string[];
  readonly now: Date;
}

const serves = (pem: string | undefined, { ca, names, now }: Demand): boolean => {
  if (pem === undefined) return false;
  const certificate = new X509Certificate(certificateIn(pem));
  const carries = (name: string) =>
    isIP(name) === 0 ? certificate.checkHost(name) !== undefined : certificate.checkIP(name) !== undefined;
  const endsAfter = now.getTime() + RENEW_WITHIN_DAYS * DAY_MS;
  return (
    names.every(carries) &&
    certificate.checkIssued(new X509Certificate(ca)) &&
    Date.parse(certificate.validTo) > endsAfter
  );
};

/** `natsTrust` with the authority in a file. */
export const natsTrustIn = (caFile: string | undefined, urls: readonly string[]): { readonly tls?: NatsTrust } =>
  natsTrust(caFile === undefined ? undefined : readFileSync(caFile, 'utf8'), urls);

const certificateIn = (pem: string): string => partOf(pem, CERTIFICATE, 'certificate');

const partOf = (pem: string, pattern: RegExp, what: string): string => {
  const [part] = pattern.exec(pem) ?? [];
  if (part === undefined) throw new Error(`a PEM file of NATS in the folder "keys" holds no ${what}`);
  return part;
};

/** Loaded only when a certificate is to be made: it takes as long as everything else that a start loads. */
const x509Library = async () => {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  return x509;
};

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

const validFor = (days: number, now: Date) => ({
  notBefore: new Date(now.getTime() - BACKDATE_MS),
  notAfter: new Date(now.getTime() + days * DAY_MS),
});

const makeAuthority = async (now: Date): Promise<string> => {
  const x509 = await x509Library();
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=Fairlead NATS',
    ...validFor(AUTHORITY_DAYS, now),
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

const issueServer = async (authority: string, names: readonly string[], now: Date): Promise<string> => {
  const x509 = await x509Library();
  const issuer = new x509.X509Certificate(certificateIn(authority));
  const der = x509.PemConverter.decodeFirst(partOf(authority, KEY, 'key'));
  const signingKey = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(8))).toString('hex'),
    subject: 'CN=nats',
    issuer: issuer.subject,
    ...validFor(SERVER_DAYS, now),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })),
      ),
    ],
  });
  return pairOf(certificate.rawData, keys.privateKey);
};

/** In one file, so that a crash cannot leave a certificate without its key. */
const pairOf = async (certificate: ArrayBuffer, key: webcrypto.CryptoKey): Promise<string> => {
  const { PemConverter } = await x509Library();
  const exported = await webcrypto.subtle.exportKey('pkcs8', key);
  return [PemConverter.encode(certificate, 'CERTIFICATE'), PemConverter.encode(exported, 'PRIVATE KEY')]
    .map((pem) => `${pem.trim()}\n`)
    .join('');
};
