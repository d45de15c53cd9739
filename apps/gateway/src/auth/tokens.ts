import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** `fl_<id>_<secret>`: the id finds the row, the secret opens it. */
const FORM = /^fl_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;
const ID_BYTES = 8;
const SECRET_BYTES = 32;

export interface NewToken {
  readonly id: string;
  /** What its holder sends. It exists nowhere else. */
  readonly token: string;
  readonly sha256: Buffer;
}

export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

export const newToken = (id = randomBytes(ID_BYTES).toString('hex')): NewToken => {
  const token = `fl_${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  return { id, token, sha256: hashOf(token) };
};

/** The id in a token; undefined for text that is no token. */
export const idOf = (token: string): string | undefined => FORM.exec(token)?.[1];

/** Compares in constant time. */
export const opens = (token: string, sha256: Buffer): boolean => {
  const given = hashOf(token);
  return given.length === sha256.length && timingSafeEqual(given, sha256);
};
