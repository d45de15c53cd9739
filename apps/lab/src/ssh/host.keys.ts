import { createHash } from 'node:crypto';
import ssh2 from 'ssh2';

export interface HostKey {
  readonly privatePem: string;
  /** `SHA256:<base64 without padding>`, as printed by ssh-keygen. */
  readonly fingerprint: string;
}

/** ssh2 1.17 drops leading zero bytes of the public key, so one key in 256 is unreadable; ten in a row do not occur. */
const TRIES_MAX = 10;

/** Generates an ed25519 host key. */
export const newHostKey = (): HostKey => {
  for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (ssh2.utils.parseKey(pair.private) instanceof Error) continue;
    const [, blob = ''] = pair.public.split(' ');
    const digest = createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64');
    return { privatePem: pair.private, fingerprint: `SHA256:${digest.replace(/=$/, '')}` };
  }
  throw new Error(`ssh2 made no readable host key in ${TRIES_MAX} tries`);
};
