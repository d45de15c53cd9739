import { generateKeyPairSync, randomBytes } from 'node:crypto';

const TYPE = 'ssh-ed25519';
const KEY_BYTES = 32;
const BLOCK = 8;
const LINE = 70;

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** A string of the SSH protocol (RFC 4251, 5): its length, and its bytes. */
const text = (value: string | Buffer): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
};

const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([
    bytes,
    Buffer.from(Array.from({ length: (BLOCK - (bytes.length % BLOCK)) % BLOCK }, (_, at) => at + 1)),
  ]);

export interface SshKey {
  /** As OpenSSH writes it, without a passphrase. */
  readonly privateKey: string;
  /** `ssh-ed25519 AAAA…` */
  readonly publicKey: string;
}

/** A new Ed25519 key in the format of OpenSSH (PROTOCOL.key). */
export const newSshKey = (): SshKey => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  // The keys themselves are at the end of their DER.
  const publicBytes = publicKey.export({ type: 'spki', format: 'der' }).subarray(-KEY_BYTES);
  const seed = privateKey.export({ type: 'pkcs8', format: 'der' }).subarray(-KEY_BYTES);
  const blob = Buffer.concat([text(TYPE), text(publicBytes)]);
  const check = randomBytes(4);
  const secret = padded(
    Buffer.concat([check, check, text(TYPE), text(publicBytes), text(Buffer.concat([seed, publicBytes])), text('')]),
  );
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[text('none'), text('none'), text(''), number(1), text(blob), text(secret)],
  ]);
  const lines = whole.toString('base64').match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return {
    privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`,
    publicKey: `${TYPE} ${blob.toString('base64')}`,
  };
};
