import { wordsOf } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { issuerFetch, IssuerUnavailable, parseRanges, type IssuerFetch } from '@fairlead/service-kit/http';
import { Inject, Injectable, Logger } from '@nestjs/common';
import {
  createRemoteJWKSet,
  customFetch as jwksFetch,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
} from 'jose';
import { LRUCache } from 'lru-cache';
import { readFile } from 'node:fs/promises';
import * as oidc from 'openid-client';
import { SETTINGS, type Settings } from '../config.js';
import { mappedGroups, userOf, type User } from './user.rules.js';
import type { OidcSettings } from './user.settings.js';

/** Only signatures with a private key of the issuer: `none` and those with a shared secret are not accepted. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Types of ID and access tokens; logout tokens have the same issuer and audience. */
const TYPES: ReadonlySet<string> = new Set(['JWT', 'AT+JWT', 'APPLICATION/AT+JWT']);
/** Clocks of two machines may differ by so much. */
const SKEW_SECONDS = 30;
/** A header is not longer, and what is not read is not decoded. */
const TOKEN_LENGTH_MAX = 12_288;
const CONFIGURATION_KEPT_MS = 60 * 60_000;
const FAILURE_KEPT_MS = 2_000;
const KEYS_KEPT_MS = 10 * 60_000;
/** An unknown key is looked for at the issuer this often at most. */
const KEYS_COOLDOWN_MS = 15_000;
const KEYS_TIMEOUT_MS = 5_000;
const INTROSPECTED_MAX = 5_000;
/** The administrator of the installation names the issuer, which may be in a private network. */
const EVERYWHERE = parseRanges('0.0.0.0/0,::/0').ranges;

/** The token is wrong. Any other failure while it is verified is the issuer's, or the network's. */
const WRONG: ReadonlySet<string> = new Set([
  'ERR_JWS_INVALID',
  'ERR_JWT_INVALID',
  'ERR_JWT_CLAIM_VALIDATION_FAILED',
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  'ERR_JOSE_ALG_NOT_ALLOWED',
  'ERR_JOSE_NOT_SUPPORTED',
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
]);

/** What a token of the issuer says. */
export type Verified =
  | { readonly kind: 'user'; readonly user: User; readonly expiresAt: Date }
  | { readonly kind: 'expired'; readonly expiresAt: Date }
  | { readonly kind: 'wrong' };

const WRONG_TOKEN: Verified = { kind: 'wrong' };

/** What the issuer grants to the page. */
export interface Granted {
  readonly user: User;
  readonly expiresAt: Date;
  /** Absent: the issuer grants none, and the session ends with its token. */
  readonly refreshToken?: string | undefined;
}

interface Known {
  readonly configuration: oidc.Configuration;
  readonly keys: JWTVerifyGetKey;
  readonly untilMs: number;
}

/** Proof Key for Code Exchange, state and nonce of one sign-in. */
export interface SignInProof {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

const timeOf = (seconds: number | undefined): Date => new Date((seconds ?? 0) * 1_000);

/** Three parts separated by dots: Fairlead's own tokens have none. */
export const isJwt = (text: string): boolean =>
  text.length <= TOKEN_LENGTH_MAX && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);

/** The identity provider of this installation. Throws IssuerUnavailable if it does not answer as one. */
@Injectable()
export class Issuer {
  private known: Promise<Known> | undefined;
  private readonly introspected: LRUCache<string, Promise<readonly string[] | undefined>>;

  private readonly log = new Logger('issuer');
  /** undefined: users do not sign in with OpenID Connect. */
  readonly settings: OidcSettings | undefined;

  constructor(
    @Inject(SETTINGS) { oidc: settings }: Pick<Settings, 'oidc'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.settings = settings;
    this.introspected = new LRUCache({ max: INTROSPECTED_MAX, ttl: settings?.checkMs ?? 1 });
  }

  /** Whose token it is; with OIDC_BEARER=access, only while the issuer says that it is active. */
  async bearer(token: string): Promise<Verified> {
    const verified = await this.verify(token);
    if (verified.kind !== 'user' || this.required.bearer === 'id') return verified;
    const groups = await this.introspect(token, verified.user);
    return groups === undefined ? WRONG_TOKEN : { ...verified, user: { ...verified.user, groups } };
  }

  /** Where a browser goes to sign in. */
  async authorizationUrl(redirectUri: string, { state, nonce, verifier }: SignInProof): Promise<string> {
    const { configuration } = await this.open();
    return oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.required.scopes,
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).href;
  }

  /** What the issuer grants for the address at which the browser came back; undefined: nothing. */
  grantFor(url: URL, { state, nonce, verifier }: SignInProof): Promise<Granted | undefined> {
    return this.granted(({ configuration }) =>
      oidc.authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      }),
    );
  }

  /** The user as the issuer sees it now; undefined: the session at the issuer has ended, or it refuses the client. */
  refreshed(refreshToken: string): Promise<Granted | undefined> {
    return this.granted(({ configuration }) => oidc.refreshTokenGrant(configuration, refreshToken));
  }

  /** Ends what the refresh token opens at the issuer, if it can. */
  async revoke(refreshToken: string): Promise<void> {
    const { configuration } = await this.open();
    if (configuration.serverMetadata().revocation_endpoint === undefined) return;
    await this.asked(() => oidc.tokenRevocation(configuration, refreshToken));
  }

  private async granted(grant: (known: Known) => Promise<oidc.TokenEndpointResponse>): Promise<Granted | undefined> {
    const known = await this.open();
    const answer = await this.asked(() => grant(known));
    if (answer?.id_token === undefined) return undefined;
    const verified = await this.verify(answer.id_token);
    if (verified.kind !== 'user') return undefined;
    return { user: verified.user, expiresAt: verified.expiresAt, refreshToken: answer.refresh_token };
  }

  private async verify(token: string): Promise<Verified> {
    if (!isJwt(token)) return WRONG_TOKEN;
    const { issuer, clientId, cliClientId } = this.required;
    const { keys } = await this.open();
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience: [clientId, cliClientId],
        algorithms: ALGORITHMS,
        clockTolerance: SKEW_SECONDS,
        requiredClaims: ['exp', 'sub'],
        currentDate: this.clock.now(),
      });
      const isOther = !TYPES.has((protectedHeader.typ ?? 'JWT').toUpperCase()) || 'events' in payload;
      return isOther ? WRONG_TOKEN : this.userIn(payload);
    } catch (error) {
      if (error instanceof errors.JWTExpired) return { kind: 'expired', expiresAt: timeOf(error.payload.exp) };
      if (error instanceof errors.JOSEError && WRONG.has(error.code)) return WRONG_TOKEN;
      throw unavailable(error);
    }
  }

  private userIn(payload: JWTPayload): Verified {
    const user = userOf(payload, this.required);
    const expiresAt = timeOf((payload.exp ?? 0) + SKEW_SECONDS);
    return user === undefined || Number.isNaN(expiresAt.getTime()) ? WRONG_TOKEN : { kind: 'user', user, expiresAt };
  }

  /** The groups of the user as the issuer sees them now; undefined: the token is no longer active. */
  private introspect(token: string, user: User): Promise<readonly string[] | undefined> {
    const ask = async (): Promise<readonly string[] | undefined> => {
      const { configuration } = await this.open();
      const answer = await this.asked(() => oidc.tokenIntrospection(configuration, token));
      if (answer === undefined) throw new IssuerUnavailable('it does not introspect tokens for this client');
      if (!answer.active) return undefined;
      if (configuration.serverMetadata().userinfo_endpoint !== undefined) return this.groupsNow(token, user);
      const claim = answer[this.required.groupsClaim];
      return claim === undefined ? user.groups : mappedGroups(claim, this.required);
    };
    const before = this.introspected.get(token);
    if (before !== undefined) return before;
    const asked = ask();
    this.introspected.set(token, asked);
    asked.catch(() => this.introspected.delete(token));
    return asked;
  }

  /**
   * From UserInfo: introspection may answer with the groups with which the token was issued, as Keycloak does. A user
   * without groups has no such claim there. undefined: the token opens it no more, or was issued without `openid`.
   */
  private async groupsNow(token: string, { subject }: User): Promise<readonly string[] | undefined> {
    const { configuration } = await this.open();
    const claims = await this.asked(() =>
      oidc.fetchUserInfo(configuration, token, subject).catch((error: unknown) => {
        if (isTokenRefused(error)) return undefined;
        throw error;
      }),
    );
    return claims === undefined ? undefined : mappedGroups(claims[this.required.groupsClaim], this.required);
  }

  /** What the issuer answers; undefined: it refuses. */
  private async asked<Answer>(ask: () => Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await ask();
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw unavailable(error);
    }
  }

  private get required(): OidcSettings {
    if (this.settings === undefined) throw new Error('no issuer is set, so none may be asked');
    return this.settings;
  }

  private nowMs(): number {
    return this.clock.now().getTime();
  }

  /** The configuration of the issuer: kept for an hour, and a failure for a moment. */
  private async open(): Promise<Known> {
    const before = this.known;
    if (before !== undefined) {
      const known = await before;
      if (known.untilMs > this.nowMs()) return known;
      if (this.known !== before) return this.open();
    }
    const opening = this.discover();
    this.known = opening;
    opening.catch((error: unknown) => {
      this.log.warn(`the OpenID Connect issuer cannot be used: ${wordsOf(error)}`);
      setTimeout(() => this.forget(opening), FAILURE_KEPT_MS).unref();
    });
    return opening;
  }

  private forget(failed: Promise<Known>): void {
    if (this.known === failed) this.known = undefined;
  }

  private async discover(): Promise<Known> {
    const { issuer, clientId, clientSecretFile, caFile } = this.required;
    try {
      const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
      const fetch = issuerFetch(ca, { allowed: EVERYWHERE, setting: 'OIDC_ISSUER' });
      const secret = clientSecretFile === undefined ? undefined : (await readFile(clientSecretFile, 'utf8')).trim();
      const configuration = await oidc.discovery(
        new URL(issuer),
        clientId,
        { [oidc.clockTolerance]: SKEW_SECONDS },
        secret === undefined ? oidc.None() : oidc.ClientSecretBasic(secret),
        { [oidc.customFetch]: fetch as oidc.CustomFetch },
      );
      const metadata = configuration.serverMetadata();
      if (metadata.issuer !== issuer) throw new IssuerUnavailable(`${issuer} calls itself ${metadata.issuer}`);
      if (metadata.jwks_uri === undefined) throw new IssuerUnavailable(`${issuer} has no keys`);
      return { configuration, keys: keysAt(metadata.jwks_uri, fetch), untilMs: this.nowMs() + CONFIGURATION_KEPT_MS };
    } catch (error) {
      throw unavailable(error);
    }
  }
}

const keysAt = (url: string, fetch: IssuerFetch): JWTVerifyGetKey =>
  createRemoteJWKSet(new URL(url), {
    [jwksFetch]: fetch,
    cacheMaxAge: KEYS_KEPT_MS,
    cooldownDuration: KEYS_COOLDOWN_MS,
    timeoutDuration: KEYS_TIMEOUT_MS,
  });

/** The client of this installation is at fault, or the issuer: no user was judged. */
const CLIENT_AT_FAULT: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'slow_down',
]);

/** What came back is not what was asked for: of another sign-in, another client or another time. */
const OTHER_ANSWER: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
]);

/** By a resource, such as UserInfo (RFC 6750, 3.1); elsewhere the client is at fault. */
const isTokenRefused = (error: unknown): boolean =>
  error instanceof oidc.WWWAuthenticateChallengeError && (error.status === 401 || error.status === 403);

const isRefusal = (error: unknown): boolean => {
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError)
    return !CLIENT_AT_FAULT.has(error.error);
  return error instanceof oidc.ClientError && OTHER_ANSWER.has(error.code ?? '');
};

/** With what openid-client says only in its cause. */
const unavailable = (error: unknown): IssuerUnavailable => {
  if (error instanceof IssuerUnavailable) return error;
  const { cause } = error as { readonly cause?: unknown };
  const words = cause instanceof Error ? `${wordsOf(error)}: ${wordsOf(cause)}` : wordsOf(error);
  return new IssuerUnavailable(words, { cause: error });
};
