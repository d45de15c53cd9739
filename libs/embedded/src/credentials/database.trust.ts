/** How the configuration describes the connection to a database. */
export interface DatabaseTrust {
  /** File with the authority of its certificate, PEM; undefined: that of the URL, or those that Node.js trusts. */
  readonly caFile: string | undefined;
  /** Whether passwords and rows may cross a network in plain text. */
  readonly plainText: boolean;
}

export type TrustedUrl = { readonly url: string } | { readonly fault: string };

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;

/** Whether what is sent to a host, or received at an address, stays on this machine. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host.toLowerCase());

/** An empty host, or a path, is a socket of this machine. */
const staysHere = ({ hostname, searchParams }: URL): boolean => {
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return host === '' || host.startsWith('/') || isLoopback(host);
};

/**
 * The URL by which PostgreSQL is called. Beyond loopback, and wherever the URL or an authority asks for it, that is TLS with a certificate
 * that was checked for the host (`sslmode=verify-full`); plain text only where the URL says so (`sslmode=disable`) and the configuration,
 * too. The client library has modes that encrypt without verifying the server: they are refused.
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

/** By environment variables, as every program reads them. */
export const databaseTrustOf = (env: Readonly<Record<string, string | undefined>>): DatabaseTrust => ({
  caFile: env['DATABASE_CA_FILE'] === '' ? undefined : env['DATABASE_CA_FILE'],
  plainText: env['DATABASE_PLAIN_TEXT'] === 'allow',
});
