import { createLocalJWKSet, jwtVerify, type JSONWebKeySet, type JWTPayload } from 'jose';
import { get } from 'node:https';
import * as z from 'zod';
import type { Jwt } from './token.identity.js';

const ANSWER_BYTES_MAX = 1024 * 1024;
const TIMEOUT_MS = 10_000;
const KEYS_KEPT_MS = 60_000;
/** The algorithms that kube-apiserver accepts. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https$/ }) });
const Keys = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

const json = (url: string, ca: string | undefined): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const request = get(url, { ...(ca === undefined ? {} : { ca }), timeout: TIMEOUT_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
        if (text.length > ANSWER_BYTES_MAX) request.destroy(new Error(`${url} answers with too much`));
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode !== 200) reject(new Error(`${url} answers ${response.statusCode}`));
        else resolve(JSON.parse(text));
      });
    });
    request.on('timeout', () => request.destroy(new Error(`${url} does not answer`)));
    request.on('error', reject);
  });

/** The public keys of one issuer, located through its discovery document (OpenID Connect Discovery 1.0). */
export class IssuerKeys {
  private kept: { readonly keys: JSONWebKeySet; readonly untilMs: number } | undefined;

  constructor(private readonly issuer: Jwt['issuer']) {}

  /** Rejects if the issuer does not respond, or responds as another issuer. */
  async load(): Promise<JSONWebKeySet> {
    if (this.kept !== undefined && this.kept.untilMs > Date.now()) return this.kept.keys;
    const { url, certificateAuthority: ca } = this.issuer;
    const found = Discovery.parse(await json(`${url.replace(/\/$/, '')}/.well-known/openid-configuration`, ca));
    if (found.issuer !== url) throw new Error(`${url} calls itself ${found.issuer}`);
    const keys = Keys.parse(await json(found.jwks_uri, ca)) as JSONWebKeySet;
    this.kept = { keys, untilMs: Date.now() + KEYS_KEPT_MS };
    return keys;
  }

  /**
   * Returns the claims of an unexpired token that this issuer signed for the audience, or undefined for any other
   * token.
   */
  async claimsOf(token: string): Promise<JWTPayload | undefined> {
    const { url: issuer, audiences } = this.issuer;
    try {
      const options = { issuer, audience: [...audiences], algorithms: ALGORITHMS, requiredClaims: ['exp'] };
      return (await jwtVerify(token, createLocalJWKSet(await this.load()), options)).payload;
    } catch {
      return undefined;
    }
  }
}
