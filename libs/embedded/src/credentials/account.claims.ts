import { readClaims, signClaims, UNLIMITED, type Revocations } from './claims.js';
import { keyOfSeed } from './nkey.js';

/** What signs the claims of the nodes' account, and what these claims are without revocations. */
export interface AccountSigning {
  /** Seed of a signing key of the operator (`SO…`): it can sign the claims of every account. */
  readonly operatorSigningSeed: string;
  readonly accountJwt: string;
}

/** The public key of the account (`A…`). */
export const accountOf = ({ accountJwt }: AccountSigning): string => readClaims(accountJwt).sub;

/** What changes in the claims of an account while it is used. */
export interface AccountState {
  readonly revocations: Revocations;
  /** How many connections its users may have together; undefined: any number. */
  readonly connectionsMax: number | undefined;
}

/** The account's claims with this state and no other. A server keeps what it has where that was issued later. */
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

/** What an account's JWT states, and when it was issued, in seconds. */
export const accountStateIn = (jwt: string): AccountState & { readonly issuedAtSeconds: number } => {
  const { iat, nats } = readClaims(jwt);
  const { conn } = (nats['limits'] ?? {}) as { readonly conn?: number };
  return {
    issuedAtSeconds: iat,
    revocations: (nats['revocations'] ?? {}) as Revocations,
    connectionsMax: conn === undefined || conn === UNLIMITED ? undefined : conn,
  };
};
