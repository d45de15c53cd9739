import { createHash, randomBytes } from 'node:crypto';
import { open, seal } from './sealing.js';

/*
 * The master key seals the keys of secrets' owners. During a rotation its file has two: the sealing one on the first
 * line, and on the second `next <key>`, which services must know before anything is sealed with it, or `previous
 * <key>`, with which something may still be sealed.
 */

const KEY_BYTES = 32;
const ID_HEX_LENGTH = 16;

export interface MasterKey {
  /** Identifies a key without revealing it: a prefix of a SHA-256. */
  readonly id: string;
  readonly key: Uint8Array;
}

export interface MasterKeys {
  /** Seals and opens. */
  readonly current: MasterKey;
  /** Only opens. */
  readonly other?: { readonly role: 'next' | 'previous'; readonly key: MasterKey };
}

const LINE = /^(?:(next|previous) )?([A-Za-z0-9+/]{43}=)$/;

export const masterKeyOf = (key: Uint8Array): MasterKey => ({
  id: createHash('sha256').update('fairlead/master-key/').update(key).digest('hex').slice(0, ID_HEX_LENGTH),
  key,
});

export const newMasterKey = (): MasterKey => masterKeyOf(randomBytes(KEY_BYTES));

/** Parses the text of a master key file; throws if it is invalid. */
export const parseMasterKeys = (text: string): MasterKeys => {
  const [first, second, ...more] = text.trim().split('\n').map(parseLine);
  if (first === undefined || first.role !== undefined || more.length > 0 || (second && second.role === undefined))
    throw new Error(NOT_A_KEY);
  return second?.role === undefined
    ? { current: first.key }
    : { current: first.key, other: { role: second.role, key: second.key } };
};

const NOT_A_KEY = `a master key file holds ${KEY_BYTES} bytes in base64, and during a rotation a second line, "next" or "previous" and such a key`;

const parseLine = (line: string): { readonly role: 'next' | 'previous' | undefined; readonly key: MasterKey } => {
  const [, role, base64] = LINE.exec(line.trim()) ?? [];
  if (base64 === undefined) throw new Error(NOT_A_KEY);
  return { role: role as 'next' | 'previous' | undefined, key: masterKeyOf(Buffer.from(base64, 'base64')) };
};

const base64Of = ({ key }: MasterKey): string => Buffer.from(key).toString('base64');

export const masterKeysText = ({ current, other }: MasterKeys): string =>
  `${base64Of(current)}\n${other === undefined ? '' : `${other.role} ${base64Of(other.key)}\n`}`;

const SEALED = /^v2\.([0-9a-f]{16})\.(.+)$/s;

/** An owner's key, sealed under the current master key, whose id precedes it. `name` is authenticated with it. */
export const sealOwnerKey = ({ current }: MasterKeys, key: Uint8Array, name: string): string =>
  `v2.${current.id}.${seal(current.key, key, name)}`;

/** An owner's key, and the master key that sealed it. */
export interface OpenedOwnerKey {
  readonly key: Buffer;
  readonly by: MasterKey;
}

/**
 * undefined: none of these master keys opens it, or it was changed. A value from before ids existed is tried with each.
 */
export const openOwnerKey = (keys: MasterKeys, sealed: string, name: string): OpenedOwnerKey | undefined => {
  const [, id, value = sealed] = SEALED.exec(sealed) ?? [];
  const known = [keys.current, ...(keys.other === undefined ? [] : [keys.other.key])];
  for (const by of known.filter((key) => id === undefined || key.id === id)) {
    try {
      return { key: open(by.key, value, name), by };
    } catch {
      // Another one may fit.
    }
  }
  return undefined;
};

/** Whether it must be resealed: it is not sealed by the current key, or has no id. */
export const isOutdated = ({ current }: MasterKeys, sealed: string): boolean => SEALED.exec(sealed)?.[1] !== current.id;
