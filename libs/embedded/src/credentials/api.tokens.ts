import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** `<kind>_<id>_<secret>`: the id finds the row, the secret opens it. */
const FORM = /^(f[lscu])_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;
const ID_BYTES = 8;
const SECRET_BYTES = 32;

/** An API token, a session of the page, a one-time code that begins one, and a session of a user of the identity provider. */
const PREFIXES = { token: 'fl', session: 'fs', code: 'fc', user: 'fu' } as const;
export type SecretKind = keyof typeof PREFIXES;

export interface NewToken {
  readonly id: string;
  /** What its holder sends. It exists nowhere else. */
  readonly token: string;
  readonly sha256: Buffer;
}

export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

export const newToken = (id = randomBytes(ID_BYTES).toString('hex'), kind: SecretKind = 'token'): NewToken => {
  const token = `${PREFIXES[kind]}_${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  return { id, token, sha256: hashOf(token) };
};

/** A new session or code. */
export const newSecret = (kind: SecretKind): NewToken => newToken(undefined, kind);

/** The id in a token, session or code; undefined for text that is none of that kind. */
export const idOf = (text: string, kind: SecretKind = 'token'): string | undefined => {
  const [, prefix, id] = FORM.exec(text) ?? [];
  return prefix === PREFIXES[kind] ? id : undefined;
};

/** Compares in constant time. */
export const opens = (token: string, sha256: Buffer): boolean => {
  const given = hashOf(token);
  return given.length === sha256.length && timingSafeEqual(given, sha256);
};
