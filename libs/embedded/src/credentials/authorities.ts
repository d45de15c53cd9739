/*
 * The file `nats-authority.pem`. Its first pair, a certificate and its key, signs the certificate of the NATS server.
 * During a rotation a second part follows, below a line that labels it: the pair that will sign next, or the
 * certificate of the previous one, whose key is destroyed.
 */

export interface Authorities {
  /** Certificate and key. */
  readonly current: string;
  readonly other?: NextAuthority | PreviousAuthority;
}

export interface NextAuthority {
  readonly role: 'next';
  /** Certificate and key. */
  readonly pair: string;
  /** ISO 8601: since when it has been in the bundle of services and agents. */
  readonly announcedAt: string;
}

export interface PreviousAuthority {
  readonly role: 'previous';
  readonly certificate: string;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/;
const KEY = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n/;
const SECOND = /^# (next|previous)(?: announced (\S+))?\n/m;

export const certificateIn = (pem: string): string => partOf(pem, CERTIFICATE, 'certificate');

export const keyIn = (pem: string): string => partOf(pem, KEY, 'key');

const partOf = (pem: string, pattern: RegExp, what: string): string => {
  const [part] = pattern.exec(pem) ?? [];
  if (part === undefined) throw new Error(`a PEM file of NATS in the folder "keys" holds no ${what}`);
  return part;
};

/** Throws if a part is missing. */
export const parseAuthorities = (text: string): Authorities => {
  const found = SECOND.exec(text);
  if (found === null) return { current: pairIn(text) };
  const [line, role, announcedAt] = found;
  const current = pairIn(text.slice(0, found.index));
  const second = text.slice(found.index + line.length);
  if (role === 'previous') return { current, other: { role, certificate: certificateIn(second) } };
  if (announcedAt === undefined || Number.isNaN(Date.parse(announcedAt)))
    throw new Error('nats-authority.pem does not say when its next authority was announced');
  return { current, other: { role: 'next', pair: pairIn(second), announcedAt } };
};

const pairIn = (text: string): string => `${certificateIn(text)}${keyIn(text)}`;

export const authoritiesText = ({ current, other }: Authorities): string => {
  switch (other?.role) {
    case undefined:
      return current;
    case 'next':
      return `${current}# next announced ${other.announcedAt}\n${other.pair}`;
    case 'previous':
      return `${current}# previous\n${other.certificate}`;
  }
};

/** The CA bundle of clients: two certificates during a rotation. */
export const bundleOf = ({ current, other }: Authorities): string => {
  const certificate = certificateIn(current);
  if (other === undefined) return certificate;
  return `${certificate}${other.role === 'next' ? certificateIn(other.pair) : other.certificate}`;
};
