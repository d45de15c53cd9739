import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { readIfAny, writeDurably, writeWhole } from '../folder/files.js';
import { authoritiesText, bundleOf, certificateIn, parseAuthorities, type Authorities } from './authorities.js';
import { issueAuthority, issueServer } from './certificate.issuing.js';
import { natsTrust, type NatsTrust } from './trust.js';

/** What a NATS server shows of itself, and what its clients must trust; each is a file that only its owner may read. */
export interface NatsCertificates {
  /** What services and agents trust: the certificate of the authority, and of a second one while it is rotated. */
  readonly caFile: string;
  /** The server's certificate and its key, in one file. */
  readonly serverFile: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Agents hold the authority's certificate for as long as their host lives. */
const AUTHORITY_DAYS = 3650;
/** The server reads its certificate when it starts, and a server of a control plane may run for very long. */
const SERVER_DAYS = 3650;
/** At a start, a server's certificate that ends within this is made again. */
const RENEW_WITHIN_DAYS = 365;

const authorityFileIn = (dataDir: string): string => join(dataDir, 'keys', 'nats-authority.pem');
const caFileIn = (dataDir: string): string => join(dataDir, 'keys', 'nats-ca.pem');
const serverFileIn = (dataDir: string): string => join(dataDir, 'keys', 'nats-server.pem');

/**
 * An authority of this installation's own and a certificate for its NATS server, in `<dataDir>/keys`, made once. The server's is
 * made again when it does not carry one of the names (DNS names or addresses), or ends within a year.
 *
 * @param isPeer Whether the server is one of a cluster, whose servers show each other their certificate.
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

/** The authorities first, for good; the other two files follow from them, so that a crash in between is repaired by the next call. */
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

/** By which names the server's certificate of that folder is called; none where it has no certificate. */
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
  /** Undefined: as it is now. */
  readonly isPeer?: boolean;
  readonly now: Date;
}

/** Of the extended key usages (RFC 5280): it may be shown to servers. */
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

/** `natsTrust` with the authorities in a file, which is read at each connect: they may be rotated meanwhile. */
export const natsTrustIn = (caFile: string | undefined, urls: readonly string[]): { readonly tls?: NatsTrust } =>
  natsTrust(caFile === undefined ? undefined : () => readFileSync(caFile, 'utf8'), urls);

export const newAuthority = (now: Date): Promise<string> =>
  issueAuthority({ name: 'Fairlead NATS', days: AUTHORITY_DAYS, now });
