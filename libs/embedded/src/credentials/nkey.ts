import { createPrivateKey, createPublicKey, randomBytes, sign, verify, type KeyObject } from 'node:crypto';

/*
 * NATS' Ed25519 keys (github.com/nats-io/nkeys): base32 of prefix, key and CRC-16. The upstream package computes the
 * curve in JavaScript: minting a credential took 13 ms of CPU time with it and takes 0.8 ms with OpenSSL, behind Node's
 * crypto. That matters when a thousand nodes join. The unit spec compares the two.
 */

/** The owner of a key, given by its first letter. */
export type KeyKind = 'operator' | 'account' | 'user';

export interface NKey {
  /** `O…`, `A…` or `U…`: the holder's name to the server. */
  readonly publicKey: string;
  /** `SO…`, `SA…` or `SU…`: the secret. */
  readonly seed: string;
  sign(data: Buffer): Buffer;
}

const PREFIX: Readonly<Record<KeyKind, number>> = { operator: 14 << 3, account: 0, user: 20 << 3 };
const SEED_PREFIX = 18 << 3;
const KEY_LENGTH = 32;
const CRC_LENGTH = 2;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * An Ed25519 key is 32 random bytes. Not created by `generateKeyPairSync`: Node.js 20 exports a key while it holds its
 * lock, and a garbage collection at that moment destroys the job that created the key, which waits for the same lock:
 * the process deadlocks.
 */
export const newKey = (kind: KeyKind): NKey => {
  const secret = randomBytes(KEY_LENGTH);
  return keyFrom(privateKeyOf(secret), PREFIX[kind], secret);
};

/** The key of a seed; throws if the text is invalid. */
export const keyOfSeed = (seed: string): NKey => {
  const raw = decoded(seed.trim());
  const [first = 0, second = 0] = raw;
  const prefix = ((first & 7) << 5) | ((second & 248) >> 3);
  const secret = raw.subarray(2);
  if ((first & 248) !== SEED_PREFIX || secret.length !== KEY_LENGTH) throw new Error('not a NATS seed');
  return keyFrom(privateKeyOf(secret), prefix, secret);
};

/** As a JWK, because OpenSSL takes ten times as long to parse DER. Node requires `x`, but computes it from `d`. */
const privateKeyOf = (secret: Buffer): KeyObject =>
  createPrivateKey({
    key: { kty: 'OKP', crv: 'Ed25519', d: secret.toString('base64url'), x: '' },
    format: 'jwk',
  });

/** Whether the holder of that public key signed the data. */
export const isSignedBy = (publicKey: string, data: Buffer, signature: Buffer): boolean => {
  const x = decoded(publicKey).subarray(1).toString('base64url');
  return verify(null, data, createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }), signature);
};

const keyFrom = (privateKey: KeyObject, prefix: number, secret: Buffer): NKey => {
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return {
    publicKey: encoded(Buffer.concat([Buffer.of(prefix), Buffer.from(x, 'base64url')])),
    seed: encoded(Buffer.concat([Buffer.of(SEED_PREFIX | (prefix >> 5), (prefix & 31) << 3), secret])),
    sign: (data) => sign(null, data, privateKey),
  };
};

const encoded = (raw: Buffer): string => {
  const crc = Buffer.alloc(CRC_LENGTH);
  crc.writeUInt16LE(crc16(raw));
  return toBase32(Buffer.concat([raw, crc]));
};

const decoded = (text: string): Buffer => {
  const bytes = fromBase32(text);
  const raw = bytes.subarray(0, -CRC_LENGTH);
  if (bytes.length <= CRC_LENGTH || crc16(raw) !== bytes.readUInt16LE(raw.length))
    throw new Error('not a NATS key: its checksum is wrong');
  return raw;
};

/** CRC-16/XMODEM. */
const crc16 = (bytes: Buffer): number => {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
};

/** RFC 4648, section 6, without padding. */
const toBase32 = (bytes: Buffer): string => {
  let [text, bits, held] = ['', 0, 0];
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(held >> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + (ALPHABET[(held << (5 - bits)) & 31] ?? '');
};

const fromBase32 = (text: string): Buffer => {
  const bytes: number[] = [];
  let [bits, held] = [0, 0];
  for (const letter of text) {
    const value = ALPHABET.indexOf(letter);
    if (value < 0) throw new Error('not a NATS key: it is not base32');
    held = (held << 5) | value;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 255);
    held &= (1 << bits) - 1;
  }
  return Buffer.from(bytes);
};
