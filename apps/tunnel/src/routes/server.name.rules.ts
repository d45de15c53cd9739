import { isDnsName } from '@fairlead/contracts';

/*
 * The server name in the first bytes of a TLS client (RFC 8446, 4.1.2; RFC 6066, 3). They are anyone's: every length is checked, and no
 * more than FIRST_BYTES_MAX is ever kept.
 */

/** Twice what clients send with post-quantum keys and many extensions. */
export const FIRST_BYTES_MAX = 16 * 1024;

const RECORD_HEADER = 5;
const RECORD_PAYLOAD_MAX = 1 << 14;
const HANDSHAKE_RECORD = 22;
const HANDSHAKE_HEADER = 4;
const CLIENT_HELLO = 1;
const VERSION_AND_RANDOM = 2 + 32;
const SERVER_NAME = 0;
const HOST_NAME = 0;

export type RefusedHello = 'not-tls' | 'malformed' | 'no-name' | 'too-long';

/** `more`: what came so far may become a name. */
export type Hello =
  | { readonly kind: 'more' }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'refused'; readonly reason: RefusedHello };

const refused = (reason: RefusedHello): Hello => ({ kind: 'refused', reason });
const MORE: Hello = { kind: 'more' };

/** Reads forward, and never beyond its end: what is not there is 0, and `isShort` from then on. */
class Cursor {
  private at = 0;
  isShort = false;

  constructor(private readonly bytes: Uint8Array) {}

  get isAtEnd(): boolean {
    return this.isShort || this.at >= this.bytes.length;
  }

  number(size: 1 | 2): number {
    const taken = this.take(size);
    return taken.reduce((sum, byte) => sum * 256 + byte, 0);
  }

  /** A part that begins with its own length. */
  part(lengthSize: 1 | 2): Uint8Array {
    return this.take(this.number(lengthSize));
  }

  take(length: number): Uint8Array {
    if (this.at + length > this.bytes.length) this.isShort = true;
    if (this.isShort) return new Uint8Array();
    const taken = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return taken;
  }
}

/** A hello may be spread over several records. */
type Handshake = { readonly kind: 'hello'; readonly bytes: Uint8Array } | Exclude<Hello, { readonly kind: 'name' }>;

const helloLength = ([, high = 0, middle = 0, low = 0]: Uint8Array): number => high * 65_536 + middle * 256 + low;

const joined = (parts: readonly Uint8Array[]): Uint8Array => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

const handshakeIn = (bytes: Uint8Array): Handshake => {
  const parts: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    const [type, major, , high = 0, low = 0] = bytes.subarray(at, at + RECORD_HEADER);
    if (type !== HANDSHAKE_RECORD || (major !== undefined && major !== 3))
      return { kind: 'refused', reason: 'not-tls' };
    if (at + RECORD_HEADER > bytes.length) break;
    const length = high * 256 + low;
    if (length === 0 || length > RECORD_PAYLOAD_MAX) return { kind: 'refused', reason: 'malformed' };
    const payload = bytes.subarray(at + RECORD_HEADER, at + RECORD_HEADER + length);
    parts.push(payload);
    if (payload.length < length) break;
    at += RECORD_HEADER + length;
  }
  const handshake = joined(parts);
  if (handshake.length > 0 && handshake[0] !== CLIENT_HELLO) return { kind: 'refused', reason: 'not-tls' };
  if (handshake.length < HANDSHAKE_HEADER) return { kind: 'more' };
  const end = HANDSHAKE_HEADER + helloLength(handshake);
  if (end > FIRST_BYTES_MAX) return { kind: 'refused', reason: 'too-long' };
  if (handshake.length < end) return { kind: 'more' };
  return { kind: 'hello', bytes: handshake.subarray(HANDSHAKE_HEADER, end) };
};

const extensionsOf = (hello: Uint8Array): Cursor | undefined => {
  const cursor = new Cursor(hello);
  cursor.take(VERSION_AND_RANDOM);
  cursor.part(1); // session
  cursor.part(2); // cipher suites
  cursor.part(1); // compression
  if (cursor.isAtEnd) return cursor.isShort ? undefined : cursor;
  const extensions = cursor.part(2);
  return cursor.isShort ? undefined : new Cursor(extensions);
};

const nameIn = (extension: Uint8Array): Hello => {
  const names = new Cursor(new Cursor(extension).part(2));
  const type = names.number(1);
  const bytes = names.part(2);
  if (names.isShort || type !== HOST_NAME) return refused('malformed');
  const name = [...bytes]
    .map((byte) => String.fromCharCode(byte))
    .join('')
    .toLowerCase();
  return isDnsName(name) ? { kind: 'name', name } : refused('no-name');
};

/** Which server a TLS client asks for, as far as the bytes so far say it. */
export const serverNameIn = (bytes: Uint8Array): Hello => {
  if (bytes.length === 0) return MORE;
  const handshake = handshakeIn(bytes);
  if (handshake.kind === 'refused') return handshake;
  if (handshake.kind === 'more') return bytes.length > FIRST_BYTES_MAX ? refused('too-long') : MORE;
  const extensions = extensionsOf(handshake.bytes);
  if (extensions === undefined) return refused('malformed');
  while (!extensions.isAtEnd) {
    const type = extensions.number(2);
    const extension = extensions.part(2);
    if (extensions.isShort) return refused('malformed');
    if (type === SERVER_NAME) return nameIn(extension);
  }
  return refused('no-name');
};
