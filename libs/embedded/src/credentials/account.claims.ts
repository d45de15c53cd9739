import { readClaims, signClaims, UNLIMITED, type Revocations } from './claims.js';
import { keyOfSeed } from './nkey.js';

/** The key that signs the claims of the nodes' account, and these claims without revocations. */
export interface AccountSigning {
  /** Seed of a signing key of the operator (`SO…`): it can sign the claims of every account. */
  readonly operatorSigningSeed: string;
  readonly accountJwt: string;
}

/** The public key of the account (`A…`). */
export const accountOf = ({ accountJwt }: AccountSigning): string => readClaims(accountJwt).sub;

/** The variable part of an account's claims. */
export interface AccountState {
  readonly revocations: Revocations;
  /** Maximum connections of all its users; undefined: unlimited. */
  readonly connectionsMax: number | undefined;
}

/** The account's claims with exactly this state. A server keeps its current ones if they were issued later. */
export const signAccount = (
  { operatorSigningSeed, accountJwt }: AccountSigning,
  { revocations, connectionsMax }: AccountState,
  issuedAtSeconds: number,
): string => {
  const { name, sub, nats } = readClaims(accountJwt);
  const { type: _type, version: _version, ...fields } = nats;
  const limits = { ...(nats['limits'] as object), conn: connectionsMax ?? UNLIMITED };
  return signClaims(
    { type: 'account', name, subject: sub, fields: { ...fields, limits, revocations }, issuedAtSeconds },
    keyOfSeed(operatorSigningSeed),
  );
};

/** The state in an account's JWT, and when it was issued, in seconds. */
export const accountStateIn = (jwt: string): AccountState & { readonly issuedAtSeconds: number } => {
  const { iat, nats } = readClaims(jwt);
  const { conn } = (nats['limits'] ?? {}) as { readonly conn?: number };
  return {
    issuedAtSeconds: iat,
    revocations: (nats['revocations'] ?? {}) as Revocations,
    connectionsMax: conn === undefined || conn === UNLIMITED ? undefined : conn,
  };
};
