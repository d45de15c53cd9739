import type { NameSignIn } from '@fairlead/contracts';
import { issuerFetch, IssuerUnavailable, type CheckedHttpOptions } from '@fairlead/service-kit/http';
import { LRUCache } from 'lru-cache';
import * as oidc from 'openid-client';
import type { Issuers, SignedIn, SignInProof } from '../../sign-in/sign-in.ports.js';

const KEPT_MS = 60 * 60_000;
const KEPT_MAX = 1_000;
/** Clocks of two machines may differ by so much. */
const SKEW_SECONDS = 30;
const GROUPS_MAX = 1_000;
const TEXT_LENGTH_MAX = 253;

const textIn = (claim: unknown): string => (typeof claim === 'string' && claim.length <= TEXT_LENGTH_MAX ? claim : '');

const groupsIn = (claim: unknown): readonly string[] =>
  Array.isArray(claim) ? claim.slice(0, GROUPS_MAX).filter((group): group is string => typeof group === 'string') : [];

/** What came back is not what was asked for, or the issuer refuses it. */
const isRefusal = (error: unknown): boolean =>
  error instanceof oidc.ResponseBodyError ||
  error instanceof oidc.AuthorizationResponseError ||
  (error instanceof oidc.ClientError && error.code !== 'OAUTH_TIMEOUT');

/** By openid-client; configurations are kept for an hour. */
export class OidcIssuers implements Issuers {
  private readonly known = new LRUCache<string, Promise<oidc.Configuration>>({ max: KEPT_MAX, ttl: KEPT_MS });

  constructor(private readonly addresses: CheckedHttpOptions) {}

  async authorizationUrl(signIn: NameSignIn, redirectUri: string, proof: SignInProof): Promise<string> {
    const { state, nonce, verifier } = proof;
    return oidc.buildAuthorizationUrl(await this.open(signIn), {
      redirect_uri: redirectUri,
      scope: 'openid profile email',
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).href;
  }

  async signedIn(signIn: NameSignIn, url: URL, { state, nonce, verifier }: SignInProof): Promise<SignedIn | undefined> {
    const configuration = await this.open(signIn);
    try {
      const answer = await oidc.authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = answer.claims();
      const subject = textIn(claims?.sub);
      if (claims === undefined || subject === '') return undefined;
      return {
        subject,
        username: textIn(claims['preferred_username']),
        email: claims['email_verified'] === true ? textIn(claims['email']) : '',
        groups: groupsIn(claims[signIn.groupsClaim]),
      };
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error instanceof IssuerUnavailable ? error : new IssuerUnavailable(String(error), { cause: error });
    }
  }

  private open(signIn: NameSignIn): Promise<oidc.Configuration> {
    const key = JSON.stringify([signIn.issuerUrl, signIn.clientId, signIn.ca]);
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const opening = this.discover(signIn);
    this.known.set(key, opening);
    opening.catch(() => this.known.delete(key));
    return opening;
  }

  private async discover({ issuerUrl, clientId, ca }: NameSignIn): Promise<oidc.Configuration> {
    try {
      const configuration = await oidc.discovery(
        new URL(issuerUrl),
        clientId,
        { [oidc.clockTolerance]: SKEW_SECONDS },
        oidc.None(),
        {
          [oidc.customFetch]: issuerFetch(ca, this.addresses) as oidc.CustomFetch,
          // The signature of the ID token is verified, too, with the keys of the issuer.
          execute: [oidc.enableNonRepudiationChecks],
        },
      );
      const { issuer } = configuration.serverMetadata();
      if (issuer !== issuerUrl) throw new IssuerUnavailable(`${issuerUrl} calls itself ${issuer}`);
      return configuration;
    } catch (error) {
      throw error instanceof IssuerUnavailable ? error : new IssuerUnavailable(String(error), { cause: error });
    }
  }
}
