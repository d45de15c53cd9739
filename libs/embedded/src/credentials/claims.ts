import { parseJson } from '@fairlead/parsers';
import { createHash } from 'node:crypto';
import { isSignedBy, type NKey } from './nkey.js';

/*
 * NATS JWTs, version 2 (github.com/nats-io/jwt, `v2/claims.go`): one signature over two JSON texts. The upstream
 * package for JavaScript is a preview (0.0.11) with only promises, while a credential is needed synchronously.
 */

/** The permissions of one user. An empty list means nothing here; to the server an empty list would mean everything. */
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
/** In limits. */
export const UNLIMITED = -1;

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

interface ClaimsDraft {
  readonly type: ClaimsType;
  readonly name: string;
  readonly subject: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly expiresAtSeconds?: number | undefined;
  /** Absent: now. */
  readonly issuedAtSeconds?: number;
}

/** A JWT with the claims of `draft` about `subject`, signed by `signer`. */
export const signClaims = (draft: ClaimsDraft, signer: NKey): string => {
  const unnamed = {
    name: draft.name,
    sub: draft.subject,
    iss: signer.publicKey,
    iat: draft.issuedAtSeconds ?? Math.floor(Date.now() / 1000),
    ...(draft.expiresAtSeconds === undefined ? {} : { exp: draft.expiresAtSeconds }),
    nats: { ...draft.fields, type: draft.type, version: 2 },
  };
  const jti = createHash('sha256').update(JSON.stringify(unnamed)).digest('base64url');
  const payload = `${encoded(HEADER)}.${encoded({ ...unnamed, jti })}`;
  return `${payload}.${signer.sign(Buffer.from(payload)).toString('base64url')}`;
};

/** An account with the revocations of its nodes is the largest. */
const CLAIMS_LENGTH_MAX = 16 * 1_048_576;

/** Parses a JWT and verifies its signature; throws if it was not signed by the issuer that it names. */
export const readClaims = (jwt: string): Claims => {
  const [header, body, signature] = jwt.trim().split('.');
  if (header === undefined || body === undefined || signature === undefined)
    throw new Error('not a NATS JWT: it has not three parts');
  const text = Buffer.from(body, 'base64url').toString('utf8');
  const claims = parseJson(text, { lengthMax: CLAIMS_LENGTH_MAX }) as Claims;
  const genuine = isSignedBy(claims.iss, Buffer.from(`${header}.${body}`), Buffer.from(signature, 'base64url'));
  if (!genuine) throw new Error(`the signature of the NATS JWT "${claims.name}" is not its issuer's`);
  return claims;
};

/** A key that signs users of an account; with a scope, it signs only users with the permissions of the scope. */
export type SigningKey =
  | string
  | { readonly kind: 'user_scope'; readonly key: string; readonly role: string; readonly template: UserTemplate };

type UserTemplate = Readonly<Record<string, unknown>>;

/** By the user's public key: claims issued at or before that time, in seconds, are rejected. */
export type Revocations = Readonly<Record<string, number>>;

export interface AccountClaims {
  readonly signingKeys: readonly SigningKey[];
  readonly jetStream: boolean;
  /** Subjects that other accounts may import. */
  readonly exports?: readonly string[];
  readonly imports?: readonly { readonly subject: string; readonly account: string }[];
  /** Absent: the server's limit. */
  readonly connectionsMax?: number;
  /** Maximum message size of its clients in bytes; absent: the server's limit. */
  readonly payloadMaxBytes?: number;
}

const JETSTREAM_UNLIMITED = {
  mem_storage: UNLIMITED,
  disk_storage: UNLIMITED,
  streams: UNLIMITED,
  consumer: UNLIMITED,
};
const NO_JETSTREAM = { mem_storage: 0, disk_storage: 0, streams: 0, consumer: 0 };

/**
 * An account's limits, and what it shares with others. Leaf nodes are never allowed: no other server joins with an
 * account's credential.
 */
export const accountFields = (account: AccountClaims): Readonly<Record<string, unknown>> => ({
  limits: {
    subs: UNLIMITED,
    data: UNLIMITED,
    payload: account.payloadMaxBytes ?? UNLIMITED,
    imports: UNLIMITED,
    exports: UNLIMITED,
    wildcards: true,
    conn: account.connectionsMax ?? UNLIMITED,
    leaf: 0,
    ...(account.jetStream ? JETSTREAM_UNLIMITED : NO_JETSTREAM),
  },
  default_permissions: { pub: {}, sub: {} },
  signing_keys: [...account.signingKeys],
  exports: (account.exports ?? []).map((subject) => ({ name: subject, subject, type: 'stream' })),
  imports: (account.imports ?? []).map((from) => ({ name: from.subject, ...from, type: 'stream' })),
});

/**
 * The permissions of every user of a scoped signing key. Subjects may contain `{{tag(name)}}`, which is replaced by the
 * user's own tag.
 */
export const userTemplate = (
  permissions: UserPermissions,
  limits: { readonly subscriptionsMax: number; readonly payloadMaxBytes: number },
): UserTemplate => ({
  pub: subjectsOf(permissions.publish),
  sub: subjectsOf(permissions.subscribe),
  subs: limits.subscriptionsMax,
  data: UNLIMITED,
  payload: limits.payloadMaxBytes,
  allowed_connection_types: ['STANDARD', 'WEBSOCKET'],
});

/** The claims of a user of that account; undefined: the account signs them with its own key. */
export const userFields = (
  accountPublicKey: string | undefined,
  permissions: UserPermissions,
): Readonly<Record<string, unknown>> => ({
  pub: subjectsOf(permissions.publish),
  sub: subjectsOf(permissions.subscribe),
  subs: UNLIMITED,
  data: UNLIMITED,
  payload: UNLIMITED,
  ...(accountPublicKey === undefined ? {} : { issuer_account: accountPublicKey }),
});

const subjectsOf = (subjects: readonly string[]): { allow: readonly string[] } | { deny: readonly string[] } =>
  subjects.length === 0 ? { deny: ['>'] } : { allow: subjects };
