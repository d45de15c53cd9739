/** The configured security of the connection to a database. */
export interface DatabaseTrust {
  /** File with the CA of its certificate, PEM; undefined: that of the URL, or those that Node.js trusts. */
  readonly caFile: string | undefined;
  /** Whether passwords and rows may cross a network in plain text. */
  readonly plainText: boolean;
}

export type TrustedUrl = { readonly url: string } | { readonly fault: string };

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;

/** Whether traffic to a host, or received at an address, stays on this machine. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host.toLowerCase());

/** An empty host, or a path, is a socket of this machine. */
const staysHere = ({ hostname, searchParams }: URL): boolean => {
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return host === '' || host.startsWith('/') || isLoopback(host);
};

/**
 * The URL of the connection to PostgreSQL. Beyond loopback, and wherever the URL or a CA requires it, it uses TLS with
 * verification of the host (`sslmode=verify-full`); plain text only if both the URL (`sslmode=disable`) and the
 * configuration allow it. Modes of the client library that encrypt without verifying the server are rejected.
 */
export const databaseUrlOver = (given: string, { caFile, plainText }: DatabaseTrust): TrustedUrl => {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol)) return { fault: 'is not a postgres:// URL' };
  const mode = url.searchParams.get('sslmode');
  const isHere = staysHere(url);
  for (const name of ['ssl', 'uselibpqcompat'])
    if (url.searchParams.has(name)) return { fault: `must not have the parameter ${name}; use sslmode` };
  if (mode === 'disable' || (mode === null && isHere && caFile === undefined)) {
    if (isHere || plainText) return { url: given };
    return {
      fault:
        'says sslmode=disable, but PostgreSQL is on another machine: passwords and rows would cross the network in plain text. Leave sslmode out, or set DATABASE_PLAIN_TEXT=allow',
    };
  }
  if (mode === null && plainText && caFile === undefined) return { url: given };
  if (mode !== null && mode !== 'verify-full')
    return { fault: `says sslmode=${mode}, which does not check who answers; use verify-full, or disable` };
  url.searchParams.set('sslmode', 'verify-full');
  if (caFile !== undefined) url.searchParams.set('sslrootcert', caFile);
  return { url: url.href };
};

/** From environment variables, for every program. */
export const databaseTrustOf = (env: Readonly<Record<string, string | undefined>>): DatabaseTrust => ({
  caFile: env['DATABASE_CA_FILE'] === '' ? undefined : env['DATABASE_CA_FILE'],
  plainText: env['DATABASE_PLAIN_TEXT'] === 'allow',
});
