import { CertificateAuthority } from '@fairlead/lab/testing/certificates';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';

const LOOPBACK = '127.0.0.1';
const ALGORITHM = 'RS256';

/**
 * The part of an OpenID Connect provider that API servers need: its discovery document, its keys, and signed tokens.
 */
export interface Issuer {
  readonly url: string;
  /** The CA of its certificate, PEM. */
  readonly ca: string;
  /** An id_token; `validForS` below 0: expired. */
  token(claims: Readonly<Record<string, unknown>>, validForS?: number): Promise<string>;
  stop(): Promise<void>;
}

export interface IssuerOptions {
  /** Address on which it listens, used in its URL; by default the loopback address. */
  readonly host?: string;
  readonly audience?: string;
}

export const startIssuer = async ({
  host = LOOPBACK,
  audience = 'kubernetes',
}: IssuerOptions = {}): Promise<Issuer> => {
  const authority = await CertificateAuthority.create(Date.now());
  const serving = await authority.issue({ commonName: 'issuer', usage: 'server', sans: [host] }, Date.now());
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM);
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', use: 'sig', alg: ALGORITHM }] };
  const server = createServer({ key: serving.keyPem, cert: serving.certPem }, ({ url: path }, response) => {
    const documents: Readonly<Record<string, object>> = {
      '/realm/.well-known/openid-configuration': {
        issuer: url,
        jwks_uri: `${url}/keys`,
        authorization_endpoint: `${url}/auth`,
        response_types_supported: ['id_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: [ALGORITHM],
      },
      '/realm/keys': keys,
    };
    const document = documents[path ?? ''];
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const url = `https://${host}:${(server.address() as AddressInfo).port}/realm`;
  return {
    url,
    ca: authority.pair.certPem,
    token: (claims, validForS = 300) => {
      const now = Math.floor(Date.now() / 1_000);
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: ALGORITHM, kid: 'one' })
        .setIssuer(url)
        .setAudience(audience)
        .setIssuedAt(now - 600)
        .setExpirationTime(now + validForS)
        .sign(privateKey);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

/** The status of a request for the nodes at one API server, with a token. */
export const askNodes = (server: string, ca: string, token: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request(
      new URL('/api/v1/nodes', server),
      { ca, headers: { authorization: `Bearer ${token}` }, timeout: 20_000 },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    asked.on('error', reject);
    asked.end();
  });
