import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { readIfAny, writeDurably, writeWhole } from '../folder/files.js';
import { authoritiesText, bundleOf, certificateIn, parseAuthorities, type Authorities } from './authorities.js';
import { issueAuthority, issueServer } from './certificate.issuing.js';
import { natsTrust, type NatsTrust } from './trust.js';

/**
 * The certificate of a NATS server, and the CA that its clients must trust; each in a file that only its owner may
 * read.
 */
export interface NatsCertificates {
  /** The CA certificate for services and agents, and a second one during a rotation. */
  readonly caFile: string;
  /** The server's certificate and its key, in one file. */
  readonly serverFile: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Agents hold the CA certificate for the lifetime of their host. */
const AUTHORITY_DAYS = 3650;
/** The server reads its certificate only at startup, and a server of a control plane may run for very long. */
const SERVER_DAYS = 3650;
/** At startup, a server certificate that expires within this time is recreated. */
const RENEW_WITHIN_DAYS = 365;

const authorityFileIn = (dataDir: string): string => join(dataDir, 'keys', 'nats-authority.pem');
const caFileIn = (dataDir: string): string => join(dataDir, 'keys', 'nats-ca.pem');
const serverFileIn = (dataDir: string): string => join(dataDir, 'keys', 'nats-server.pem');

/**
 * The installation's own CA and a certificate for its NATS server, in `<dataDir>/keys`, created once. The server's is
 * recreated if it lacks one of the names (DNS names or addresses), or expires within a year.
 * @param isPeer Whether the server belongs to a cluster, whose servers present their certificates to each other.
 */
export const ensureCertificates = async (
  dataDir: string,
  names: readonly string[],
  { isPeer = false, now = new Date() }: { readonly isPeer?: boolean; readonly now?: Date } = {},
): Promise<NatsCertificates> => {
  const authorities = readAuthorities(dataDir) ?? { current: await newAuthority(now) };
  return writeAuthorities(dataDir, authorities, { names, isPeer, now });
};

/** undefined: NATS of this data folder has no certificate. */
export const readAuthorities = (dataDir: string): Authorities | undefined => {
  const text = readIfAny(authorityFileIn(dataDir));
  return text === undefined ? undefined : parseAuthorities(text);
};

/** Writes the CAs first, durably; the other two files derive from them, so the next call repairs a crash in between. */
export const writeAuthorities = async (
  dataDir: string,
  authorities: Authorities,
  { names, isPeer = isPeerIn(readIfAny(serverFileIn(dataDir))), now }: Pick<Demand, 'names' | 'isPeer' | 'now'>,
): Promise<NatsCertificates> => {
  const [authorityFile, caFile, serverFile] = [authorityFileIn(dataDir), caFileIn(dataDir), serverFileIn(dataDir)];
  const text = authoritiesText(authorities);
  if (readIfAny(authorityFile) !== text) writeDurably(authorityFile, text);
  const bundle = bundleOf(authorities);
  if (readIfAny(caFile) !== bundle) writeWhole(caFile, bundle);
  const { current } = authorities;
  if (!serves(readIfAny(serverFile), { ca: certificateIn(current), names, isPeer, now }))
    writeWhole(serverFile, await issueServer(current, { name: 'nats', names, isPeer, days: SERVER_DAYS, now }));
  return { caFile, serverFile };
};

/** The names in the server certificate of that folder; empty if there is none. */
export const serverNames = (dataDir: string): readonly string[] => {
  const pem = readIfAny(serverFileIn(dataDir));
  if (pem === undefined) return [];
  const { subjectAltName = '' } = new X509Certificate(certificateIn(pem));
  return subjectAltName
    .split(', ')
    .map((name) => name.replace(/^(DNS|IP Address):/, ''))
    .filter((name) => name !== '');
};

interface Demand {
  readonly ca: string;
  readonly names: readonly string[];
  /** undefined: unchanged. */
  readonly isPeer?: boolean;
  readonly now: Date;
}

/** Extended key usage (RFC 5280): it may be presented to servers. */
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

const isPeerIn = (pem: string | undefined): boolean =>
  pem !== undefined && new X509Certificate(certificateIn(pem)).keyUsage.includes(CLIENT_AUTH);

const serves = (pem: string | undefined, { ca, names, isPeer, now }: Demand): boolean => {
  if (pem === undefined) return false;
  const certificate = new X509Certificate(certificateIn(pem));
  const carries = (name: string) =>
    isIP(name) === 0 ? certificate.checkHost(name) !== undefined : certificate.checkIP(name) !== undefined;
  const endsAfter = now.getTime() + RENEW_WITHIN_DAYS * DAY_MS;
  return (
    names.every(carries) &&
    (isPeer !== true || isPeerIn(pem)) &&
    certificate.checkIssued(new X509Certificate(ca)) &&
    Date.parse(certificate.validTo) > endsAfter
  );
};

/** `natsTrust` with the CAs in a file, which is read at each connect because they may be rotated. */
export const natsTrustIn = (caFile: string | undefined, urls: readonly string[]): { readonly tls?: NatsTrust } =>
  natsTrust(caFile === undefined ? undefined : () => readFileSync(caFile, 'utf8'), urls);

export const newAuthority = (now: Date): Promise<string> =>
  issueAuthority({ name: 'Fairlead NATS', days: AUTHORITY_DAYS, now });
