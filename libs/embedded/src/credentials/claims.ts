import { createHash } from 'node:crypto';
import { isSignedBy, type NKey } from './nkey.js';

/*
 * NATS JWTs, version 2 (github.com/nats-io/jwt, `v2/claims.go`): one signature over two JSON texts. The makers' package for JavaScript is
 * a preview (0.0.11) that only offers promises, where a credential is a value that is needed at once.
 */

/** What one user may do. An empty list means nothing here; to the server an empty list would mean everything. */
export interface UserPermissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

export type ClaimsType = 'operator' | 'account' | 'user';

export interface Claims {
  readonly name: string;
  readonly sub: string;
  readonly iss: string;
  readonly iat: number;
  readonly exp?: number;
  readonly jti: string;
  readonly nats: { readonly type: ClaimsType; readonly version: 2; readonly [field: string]: unknown };
}

const HEADER = { typ: 'JWT', alg: 'ed25519-nkey' };
const UNLIMITED = -1;

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

interface ClaimsDraft {
  readonly type: ClaimsType;
  readonly name: string;
  readonly subject: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly expiresAtSeconds?: number | undefined;
}

/** A JWT that says of `subject` what `draft` says, signed by `signer`. */
export const signClaims = (draft: ClaimsDraft, signer: NKey): string => {
  const unnamed = {
    name: draft.name,
    sub: draft.subject,
    iss: signer.publicKey,
    iat: Math.floor(Date.now() / 1000),
    ...(draft.expiresAtSeconds === undefined ? {} : { exp: draft.expiresAtSeconds }),
    nats: { ...draft.fields, type: draft.type, version: 2 },
  };
  const jti = createHash('sha256').update(JSON.stringify(unnamed)).digest('base64url');
  const payload = `${encoded(HEADER)}.${encoded({ ...unnamed, jti })}`;
  return `${payload}.${signer.sign(Buffer.from(payload)).toString('base64url')}`;
};

/** Reads a JWT and checks its signature; throws where it was not made by the issuer that it names. */
export const readClaims = (jwt: string): Claims => {
  const [header, body, signature] = jwt.trim().split('.');
  if (header === undefined || body === undefined || signature === undefined)
    throw new Error('not a NATS JWT: it has not three parts');
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as Claims;
  const genuine = isSignedBy(claims.iss, Buffer.from(`${header}.${body}`), Buffer.from(signature, 'base64url'));
  if (!genuine) throw new Error(`the signature of the NATS JWT "${claims.name}" is not its issuer's`);
  return claims;
};

/** What an account may use: everything, JetStream too. The limits of an embedded server are those of the machine. */
export const unlimitedAccount = (
  signingKeys: readonly string[],
  jetStream: boolean,
): Readonly<Record<string, unknown>> => ({
  limits: {
    subs: UNLIMITED,
    data: UNLIMITED,
    payload: UNLIMITED,
    imports: UNLIMITED,
    exports: UNLIMITED,
    wildcards: true,
    conn: UNLIMITED,
    leaf: UNLIMITED,
    ...(jetStream
      ? { mem_storage: UNLIMITED, disk_storage: UNLIMITED, streams: UNLIMITED, consumer: UNLIMITED }
      : { mem_storage: 0, disk_storage: 0, streams: 0, consumer: 0 }),
  },
  default_permissions: { pub: {}, sub: {} },
  signing_keys: [...signingKeys],
});

/** The claims of a user of that account. */
export const userFields = (
  accountPublicKey: string,
  permissions: UserPermissions,
): Readonly<Record<string, unknown>> => ({
  pub: subjectsOf(permissions.publish),
  sub: subjectsOf(permissions.subscribe),
  subs: UNLIMITED,
  data: UNLIMITED,
  payload: UNLIMITED,
  issuer_account: accountPublicKey,
});

const subjectsOf = (subjects: readonly string[]): { allow: readonly string[] } | { deny: readonly string[] } =>
  subjects.length === 0 ? { deny: ['>'] } : { allow: subjects };
