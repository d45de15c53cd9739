import { open, seal } from './sealing.js';

/*
 * The keys of an owner as they are sealed under the master key: the one that seals its secrets, and while it is being
 * replaced a second one, followed by a byte that says what it is for.
 */

/** Services cache keys of owners for so long: then a destroyed one is forgotten by all, and a replaced one known to all. */
export const KEY_CACHED_MS = 30_000;

const KEY_BYTES = 32;
const ROLES = { next: 0x6e, previous: 0x70 } as const;

export interface OwnerRing {
  /** Seals and opens. */
  readonly current: Uint8Array;
  /** Only opens: services know the next one before anything is sealed with it. */
  readonly other?: { readonly role: keyof typeof ROLES; readonly key: Uint8Array };
}

/** Throws if these are no keys of an owner. */
export const ringOf = (bytes: Uint8Array): OwnerRing => {
  const current = bytes.subarray(0, KEY_BYTES);
  if (bytes.length === KEY_BYTES) return { current };
  const mark = bytes[2 * KEY_BYTES];
  const role = mark === ROLES.next ? 'next' : 'previous';
  if (bytes.length !== 2 * KEY_BYTES + 1 || mark !== ROLES[role]) throw new Error('these are no keys of an owner');
  return { current, other: { role, key: bytes.subarray(KEY_BYTES, 2 * KEY_BYTES) } };
};

export const bytesOfRing = ({ current, other }: OwnerRing): Uint8Array =>
  other === undefined ? current : Buffer.concat([current, other.key, Buffer.from([ROLES[other.role]])]);

export const sealWithRing = ({ current }: OwnerRing, plain: Uint8Array, context: string): string =>
  seal(current, plain, context);

/** Throws if no key of the ring opens it, or the value or its context was changed. */
export const openWithRing = ({ current, other }: OwnerRing, sealed: string, context: string): Buffer => {
  if (other === undefined) return open(current, sealed, context);
  try {
    return open(current, sealed, context);
  } catch {
    return open(other.key, sealed, context);
  }
};
