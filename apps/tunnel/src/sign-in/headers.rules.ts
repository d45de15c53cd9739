/*
 * What reaches a published service of a request, and what reaches a browser of its answer. Headers are in the order of
 * `rawHeaders`: name, value, name, value.
 */

/** Of the tunnel itself: never sent to a service, and never set by one. */
export const SESSION_COOKIE = '__Host-fairlead-session';
export const SIGN_IN_COOKIE = '__Host-fairlead-sign-in';
const OWN_COOKIES: ReadonlySet<string> = new Set([SESSION_COOKIE, SIGN_IN_COOKIE]);

/** Of one connection only (RFC 9110, 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

/** What servers take for the word of a proxy in front of them. */
const IDENTITY = /^(x-forwarded-|x-auth-|x-remote-|x-webauth-|x-real-ip$|x-user$|x-email$|remote-|forwarded$)/;

/** Some servers read `x_forwarded_user` as `x-forwarded-user`. */
const canonical = (name: string): string => name.toLowerCase().replaceAll('_', '-');

type Header = readonly [name: string, value: string];

const pairs = (raw: readonly string[]): readonly Header[] =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []));

/** Names that the header Connection declares to be of this connection only. */
const declaredHops = (headers: readonly Header[]): ReadonlySet<string> =>
  new Set(
    headers
      .filter(([name]) => canonical(name) === 'connection')
      .flatMap(([, value]) => value.split(',').map((part) => canonical(part.trim()))),
  );

const withoutHops = (headers: readonly Header[]): readonly Header[] => {
  const declared = declaredHops(headers);
  return headers.filter(([name]) => !HOP_BY_HOP.has(canonical(name)) && !declared.has(canonical(name)));
};

/** The value of a cookie; undefined: there is none, or there are two. */
export const cookieIn = (header: string | undefined, name: string): string | undefined => {
  const found = cookiesOf(header).filter(([one]) => one === name);
  return found.length === 1 ? found[0]?.[1] : undefined;
};

const cookiesOf = (header = ''): readonly Header[] =>
  header.split(';').flatMap((part) => {
    const at = part.indexOf('=');
    return at < 0 ? [] : [[part.slice(0, at).trim(), part.slice(at + 1).trim()] as const];
  });

const withoutOwnCookies = (value: string): string =>
  cookiesOf(value)
    .filter(([name]) => !OWN_COOKIES.has(name))
    .map(([name, text]) => `${name}=${text}`)
    .join('; ');

/** Who is signed in, as its service learns it. */
export interface Visitor {
  readonly subject: string;
  /** Empty: the issuer says none. */
  readonly username: string;
  readonly email: string;
  /** Of the groups that may use the service, those of the user. */
  readonly groups: readonly string[];
}

/** A text that is safe in a header as it is. */
const PRINTABLE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

/** What the service learns of whoever asks. Texts that no header can carry are percent-encoded. */
export const visitorHeaders = ({ subject, username, email, groups }: Visitor): readonly Header[] => {
  const headers: readonly Header[] = [
    ['X-Forwarded-User', subject],
    ['X-Forwarded-Preferred-Username', username],
    ['X-Forwarded-Email', email],
    ['X-Forwarded-Groups', groups.map((group) => encodeURI(group).replaceAll(',', '%2C')).join(',')],
  ];
  return headers
    .filter(([, value]) => value !== '')
    .map(([name, value]) => [name, PRINTABLE.test(value) ? value : encodeURIComponent(value)] as const);
};

/** The headers of a request as its service gets them: what a client says of itself is removed. */
export const requestHeaders = (
  raw: readonly string[],
  { visitor, host, address }: { readonly visitor: Visitor; readonly host: string; readonly address: string },
): readonly Header[] => [
  ...withoutHops(pairs(raw)).flatMap(([name, value]): readonly Header[] => {
    const known = canonical(name);
    if (IDENTITY.test(known) || known === 'host') return [];
    if (known !== 'cookie') return [[name, value]];
    const cookies = withoutOwnCookies(value);
    return cookies === '' ? [] : [[name, cookies]];
  }),
  ['Host', host],
  ['X-Forwarded-Host', host],
  ['X-Forwarded-Proto', 'https'],
  ['X-Forwarded-For', address],
  ...visitorHeaders(visitor),
];

/** The headers of an answer as the browser gets them: a service sets no cookie of the tunnel. */
export const answerHeaders = (raw: readonly string[]): readonly Header[] =>
  withoutHops(pairs(raw)).filter(
    ([name, value]) => canonical(name) !== 'set-cookie' || !OWN_COOKIES.has(value.split('=', 1)[0]?.trim() ?? ''),
  );
