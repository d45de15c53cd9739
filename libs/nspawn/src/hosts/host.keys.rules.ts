/** A length and the bytes: SSH's encoding of strings (RFC 4251, section 5). */
const field = (content: Buffer | string): Buffer => {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

const KIND = 'ssh-ed25519';
const LINE_LENGTH = 70;
const BLOCK = 8;

const publicBlob = (publicKey: Buffer): Buffer => Buffer.concat([field(KIND), field(publicKey)]);

/** `ssh-ed25519 <base64> <comment>` of a raw 32-byte public key. */
export const publicKeyLine = (publicKey: Buffer, comment: string): string =>
  `${KIND} ${publicBlob(publicKey).toString('base64')} ${comment}\n`;

/** The bytes hashed by `SHA256:<base64>` fingerprints. */
export const fingerprintInput = (publicKey: Buffer): Buffer => publicBlob(publicKey);

/**
 * An unencrypted private key in OpenSSH's format (PROTOCOL.key). `check` is any number; `seed` and `publicKey` are 32
 * raw bytes each.
 */
export const privateKeyFile = (
  { seed, publicKey }: { readonly seed: Buffer; readonly publicKey: Buffer },
  comment: string,
  check: number,
): string => {
  const checks = Buffer.alloc(8);
  checks.writeUInt32BE(check, 0);
  checks.writeUInt32BE(check, 4);
  const plain = Buffer.concat([
    checks,
    field(KIND),
    field(publicKey),
    field(Buffer.concat([seed, publicKey])),
    field(comment),
  ]);
  const padding = Buffer.from(Array.from({ length: (BLOCK - (plain.length % BLOCK)) % BLOCK }, (_, at) => at + 1));
  const one = Buffer.alloc(4);
  one.writeUInt32BE(1);
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    one,
    field(publicBlob(publicKey)),
    field(Buffer.concat([plain, padding])),
  ]).toString('base64');
  const lines = whole.match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g')) ?? [];
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n');
};
