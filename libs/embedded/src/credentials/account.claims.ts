import { readClaims, signClaims, type Revocations } from './claims.js';
import { keyOfSeed } from './nkey.js';

/** What signs the claims of the nodes' account, and what these claims are without revocations. */
export interface AccountSigning {
  /** Seed of a signing key of the operator (`SO…`): it can sign the claims of every account. */
  readonly operatorSigningSeed: string;
  readonly accountJwt: string;
}

/** The public key of the account (`A…`). */
export const accountOf = ({ accountJwt }: AccountSigning): string => readClaims(accountJwt).sub;

/** The account's claims with these revocations and no others. A server keeps what it has where that was issued later. */
export const signAccount = (
  { operatorSigningSeed, accountJwt }: AccountSigning,
  revocations: Revocations,
  issuedAtSeconds: number,
): string => {
  const { name, sub, nats } = readClaims(accountJwt);
  const { type: _type, version: _version, ...fields } = nats;
  return signClaims(
    { type: 'account', name, subject: sub, fields: { ...fields, revocations }, issuedAtSeconds },
    keyOfSeed(operatorSigningSeed),
  );
};

/** When the claims in an account's JWT were issued, in seconds, and whom they revoke. */
export const revocationsIn = (jwt: string): { readonly issuedAtSeconds: number; readonly revocations: Revocations } => {
  const { iat, nats } = readClaims(jwt);
  return { issuedAtSeconds: iat, revocations: (nats['revocations'] ?? {}) as Revocations };
};
