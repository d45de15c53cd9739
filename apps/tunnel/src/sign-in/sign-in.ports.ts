import type { NameSignIn } from '@fairlead/contracts';

/** Proof Key for Code Exchange, state and nonce of one sign-in. */
export interface SignInProof {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Whom the issuer has signed in. */
export interface SignedIn {
  readonly subject: string;
  readonly username: string;
  readonly email: string;
  readonly groups: readonly string[];
}

/** Identity providers of published services. Every method rejects with IssuerUnavailable if one does not answer. */
export interface Issuers {
  /** Where a browser goes to sign in. */
  authorizationUrl(signIn: NameSignIn, redirectUri: string, proof: SignInProof): Promise<string>;
  /** Whom it has signed in, for the address at which the browser came back; undefined: no user. */
  signedIn(signIn: NameSignIn, url: URL, proof: SignInProof): Promise<SignedIn | undefined>;
}
