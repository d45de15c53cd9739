import { LRUCache } from 'lru-cache';
import { createHash, createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { KUBECONFIG_BYTES_MAX, Unacceptable, type KubeconfigFields } from './kubeconfig.document.js';

/** A CA, and a client certificate issued by it with its key: validated, and encoded again from the parsed values. */
export interface AdministratorPair {
  /** PEM, one block each. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
  /** kubeadm's discovery hash: `sha256:` and the SHA-256 of the CA's public key (SubjectPublicKeyInfo). */
  readonly caCertHash: string;
  /** When the client certificate expires (RFC 3339). */
  readonly expiresAt: string;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const CERTIFICATE = /^-----BEGIN CERTIFICATE-----\r?\n[A-Za-z0-9+/=\r\n]+-----END CERTIFICATE-----\s*$/;
const KEY = /^-----BEGIN (RSA PRIVATE KEY|EC PRIVATE KEY|PRIVATE KEY)-----\r?\n[A-Za-z0-9+/=\r\n]+-----END \1-----\s*$/;
const CLIENT_AUTHENTICATION = '1.3.6.1.5.5.7.3.2';
const RSA_BITS_MIN = 2048;
const RSA_BITS_MAX = 8192;

/** The subject of kubeadm's administrator; the second group since Kubernetes 1.29. */
const ADMINISTRATOR = ['CN=kubernetes-admin'];
const ADMINISTRATORS = ['O=system:masters', 'O=kubeadm:cluster-admins'];

const pemOf = (base64: string, pattern: RegExp, what: string): string => {
  const text = BASE64.test(base64) ? Buffer.from(base64, 'base64').toString('latin1') : '';
  if (!pattern.test(text)) throw new Unacceptable(`${what} is not one PEM block in base64`);
  return text;
};

const understood = <T>(what: string, read: () => T): T => {
  try {
    return read();
  } catch {
    throw new Unacceptable(`${what} cannot be read`);
  }
};

/** Checked before anything is verified with the key: with an oversized one that takes minutes. */
const checkKind = (key: KeyObject, what: string): void => {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  const isKnown =
    key.asymmetricKeyType === 'ec' ||
    key.asymmetricKeyType === 'ed25519' ||
    (key.asymmetricKeyType === 'rsa' && bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX);
  if (!isKnown) throw new Unacceptable(`${what} has a key of another kind than Kubernetes uses`);
};

const certificateOf = (base64: string, what: string): X509Certificate => {
  const pem = pemOf(base64, CERTIFICATE, what);
  const certificate = understood(what, () => new X509Certificate(pem));
  checkKind(
    understood(what, () => certificate.publicKey),
    what,
  );
  return certificate;
};

export const publicKeyHashOf = ({ publicKey }: X509Certificate): string =>
  `sha256:${createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')}`;

const signed = (certificate: X509Certificate, by: X509Certificate): boolean =>
  certificate.checkIssued(by) && certificate.verify(by.publicKey);

const checkSubject = ({ subject }: X509Certificate): void => {
  const parts = subject.split('\n');
  const isAdministrator =
    ADMINISTRATOR.every((part) => parts.includes(part)) &&
    parts.every((part) => ADMINISTRATOR.includes(part) || ADMINISTRATORS.includes(part)) &&
    parts.length === 2;
  if (!isAdministrator) throw new Unacceptable("its client certificate is not that of kubeadm's administrator");
};

const CHECKED_MAX = 64;
const CHECKED_KEPT_MS = 60_000;
/** A kubeconfig is sealed after validation, and opened again shortly after. */
const checked = new LRUCache<string, AdministratorPair>({ max: CHECKED_MAX, ttl: CHECKED_KEPT_MS });

/** Validates that the parts match: the CA is one, it issued the certificate, and the certificate is the key's. */
export const administratorOf = (fields: Omit<KubeconfigFields, 'server'>): AdministratorPair => {
  const { ca, certificate, key } = fields;
  const name = createHash('sha256')
    .update(JSON.stringify([ca, certificate, key]))
    .digest('base64');
  const known = checked.get(name);
  if (known !== undefined) return known;
  const pair = checkedPair(fields);
  checked.set(name, pair);
  return pair;
};

const checkedPair = (fields: Omit<KubeconfigFields, 'server'>): AdministratorPair => {
  const ca = certificateOf(fields.ca, 'its certificate authority');
  const certificate = certificateOf(fields.certificate, 'its client certificate');
  const keyPem = pemOf(fields.key, KEY, 'its client key');
  const key = understood('its client key', () => createPrivateKey(keyPem));
  checkKind(key, 'its client key');
  if (!ca.ca || !signed(ca, ca)) throw new Unacceptable('its certificate authority is not one that signs for itself');
  if (certificate.ca || !signed(certificate, ca))
    throw new Unacceptable('its client certificate is not signed by its certificate authority');
  if (!certificate.checkPrivateKey(key)) throw new Unacceptable('its client key is not that of its client certificate');
  if (!(certificate.keyUsage as readonly string[] | undefined)?.includes(CLIENT_AUTHENTICATION))
    throw new Unacceptable('its client certificate is not one for clients');
  checkSubject(certificate);
  return {
    ca: ca.toString(),
    certificate: certificate.toString(),
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    caCertHash: publicKeyHashOf(ca),
    expiresAt: new Date(certificate.validTo).toISOString(),
  };
};

/** The required properties of a user's certificate. */
export interface SignedExpectation {
  /** The cluster's CA, PEM. */
  readonly ca: string;
  /** The private key of the signing request, PEM. */
  readonly key: string;
  readonly user: string;
  readonly group: string;
  /** It must expire by this time. */
  readonly expiresBy: Date;
}

/** Validates a client certificate for one key, user and group, issued by the CA; in base64 as the API returns it. */
export const checkSigned = (
  answer: string,
  { ca, key, user, group, expiresBy }: SignedExpectation,
): { readonly certificate: string; readonly expiresAt: string } => {
  if (answer.length > KUBECONFIG_BYTES_MAX) throw new Unacceptable('the client certificate is too long');
  const certificate = certificateOf(answer, 'the client certificate');
  const authority = new X509Certificate(ca);
  if (certificate.ca || !signed(certificate, authority))
    throw new Unacceptable("the client certificate is not signed by the cluster's certificate authority");
  if (!certificate.checkPrivateKey(createPrivateKey(key)))
    throw new Unacceptable('the client certificate is for another key');
  if (certificate.subject.split('\n').toSorted().join() !== [`CN=${user}`, `O=${group}`].join())
    throw new Unacceptable('the client certificate is for another user');
  if (!(certificate.keyUsage as readonly string[] | undefined)?.includes(CLIENT_AUTHENTICATION))
    throw new Unacceptable('the client certificate is not for clients');
  const expiresAt = new Date(certificate.validTo);
  if (expiresAt > expiresBy) throw new Unacceptable('the client certificate is valid for too long');
  return { certificate: certificate.toString(), expiresAt: expiresAt.toISOString() };
};
