import { createHash } from 'node:crypto';

/** The format of `ssh-keygen -lf`: SHA256:<base64 without padding>. */
export const fingerprintOf = (key: Uint8Array): string =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=$/, '')}`;
