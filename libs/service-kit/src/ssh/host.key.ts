import { createHash } from 'node:crypto';

/** As `ssh-keygen -lf` prints it: SHA256:<base64 without padding>. */
export const fingerprintOf = (key: Uint8Array): string =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
