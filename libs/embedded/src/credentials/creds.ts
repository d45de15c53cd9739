import { readClaims, signClaims, userFields, type Claims, type UserPermissions } from './claims.js';
import { keyOfSeed, newKey } from './nkey.js';

export interface MintRequest {
  /** Seed of the account's signing key (`SA…`). */
  readonly signingSeed: string;
  /** The account that the user shall belong to (`A…`). */
  readonly accountPublicKey: string;
  /** Shows in the server's log and connection list. */
  readonly name: string;
  readonly permissions: UserPermissions;
  /** Without it the credential does not end by itself. */
  readonly expiresInSeconds?: number;
}

/** A new user of the account with exactly those permissions, as the text of a creds file. Touches no file. */
export const mintCredentials = (request: MintRequest): string => {
  const { signingSeed, accountPublicKey, name, permissions, expiresInSeconds } = request;
  const user = newKey('user');
  const jwt = signClaims(
    {
      type: 'user',
      name,
      subject: user.publicKey,
      fields: userFields(accountPublicKey, permissions),
      expiresAtSeconds: expiresInSeconds === undefined ? undefined : Math.floor(Date.now() / 1000) + expiresInSeconds,
    },
    keyOfSeed(signingSeed),
  );
  return credsText(jwt, user.seed);
};

/** The user's claims in the text of a creds file. */
export const claimsOfCreds = (creds: string): Claims => readClaims(jwtOf(creds));

/** What a NATS client answers the server's challenge with. */
export interface ChallengeAnswer {
  readonly jwt: string;
  readonly nkey: string;
  readonly sig: string;
}

/** Answers as the client library's `credsAuthenticator` does, with Node's crypto: 0.1 ms a connection instead of 30. */
export const authenticatorOf = (creds: string): ((nonce?: string) => ChallengeAnswer) => {
  const jwt = jwtOf(creds);
  const seed = /-----BEGIN USER NKEY SEED-----\s+(\S+)\s+-{3,}END USER NKEY SEED-{3,}/.exec(creds)?.[1];
  if (seed === undefined) throw new Error('not a creds file: it holds no seed');
  const key = keyOfSeed(seed);
  return (nonce = '') => ({ jwt, nkey: key.publicKey, sig: key.sign(Buffer.from(nonce)).toString('base64url') });
};

const jwtOf = (creds: string): string => {
  const jwt = /-----BEGIN NATS USER JWT-----\s+(\S+)\s+-{3,}END NATS USER JWT-{3,}/.exec(creds)?.[1];
  if (jwt === undefined) throw new Error('not a creds file: it holds no NATS user JWT');
  return jwt;
};

/** The account that a creds file's user belongs to. */
export const accountOfCreds = (creds: string): string => {
  const { nats, iss } = claimsOfCreds(creds);
  return typeof nats['issuer_account'] === 'string' ? nats['issuer_account'] : iss;
};

const credsText = (jwt: string, seed: string): string => `-----BEGIN NATS USER JWT-----
${jwt}
------END NATS USER JWT------

************************* IMPORTANT *************************
The NKEY seed below proves this user's identity. Keep it secret.

-----BEGIN USER NKEY SEED-----
${seed}
------END USER NKEY SEED------

*************************************************************
`;
