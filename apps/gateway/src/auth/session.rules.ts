/**
 * How a browser holds a session: in a cookie that scripts cannot read and that other sites' requests do not carry. Cookies are not
 * separated by port, and SameSite knows no ports either, so each request says where it comes from as well.
 */

export const COOKIE_SEPARATOR = ';';

/** What is used of a request. */
export interface Asking {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** By TLS of this gateway. */
  readonly isEncrypted: boolean;
  /** The port at which it arrived. */
  readonly port: number;
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Two gateways of one machine have each their own. */
export const cookieName = ({ isEncrypted, port }: Pick<Asking, 'isEncrypted' | 'port'>): string =>
  isEncrypted ? '__Host-fairlead-session' : `fairlead-session-${port}`;

const textOf = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.join(COOKIE_SEPARATOR);

/** The session that the request brings; undefined: none. */
export const sessionIn = (asking: Asking): string | undefined => {
  const name = cookieName(asking);
  for (const pair of textOf(asking.headers['cookie'])?.split(COOKIE_SEPARATOR) ?? []) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
};

const attributes = ({ isEncrypted }: Pick<Asking, 'isEncrypted'>): string =>
  `Path=/; HttpOnly; SameSite=Strict${isEncrypted ? '; Secure' : ''}`;

export const sessionCookie = (asking: Asking, session: string, expiresAt: Date): string =>
  `${cookieName(asking)}=${session}; ${attributes(asking)}; Expires=${expiresAt.toUTCString()}`;

export const endedCookie = (asking: Asking): string =>
  `${cookieName(asking)}=; ${attributes(asking)}; Expires=${new Date(0).toUTCString()}`;

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined);

/**
 * Whether the page of this gateway has sent the request, by what browsers state and scripts cannot. A change needs such a statement; a
 * read may come without one, from the address bar and from browsers to which the connection is not trustworthy.
 */
export const isFromOwnPage = ({ method, headers }: Pick<Asking, 'method' | 'headers'>): boolean => {
  const site = textOf(headers['sec-fetch-site']);
  const isSafe = SAFE_METHODS.has(method);
  if (site !== undefined) return site === 'same-origin' || (isSafe && site === 'none');
  const origin = textOf(headers['origin']);
  return origin === undefined ? isSafe : hostOf(origin) === textOf(headers['host'])?.toLowerCase();
};

/** IPv4 and IPv6 loopback, and the former written as the latter. */
export const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && (address === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(address));
