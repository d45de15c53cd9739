import { createHash, generateKeyPairSync, randomInt } from 'node:crypto';
import { fingerprintInput, privateKeyFile, publicKeyLine } from './host.keys.rules.js';

/** The SSH host key. Created by Fairlead, so it is known before the host has ever run. */
export interface HostKey {
  readonly privateKeyFile: string;
  readonly publicKeyLine: string;
  /** `SHA256:<base64>`, the format of ssh-keygen -l. */
  readonly fingerprint: string;
}

const CHECK_MAX = 2 ** 32;
const RAW_LENGTH = 32;

export const generateHostKey = (comment: string): HostKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  // RFC 8410: both encodings end with the 32 raw bytes.
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-RAW_LENGTH);
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-RAW_LENGTH);
  const digest = createHash('sha256').update(fingerprintInput(raw)).digest('base64').replace(/=$/, '');
  return {
    privateKeyFile: privateKeyFile({ seed, publicKey: raw }, comment, randomInt(CHECK_MAX)),
    publicKeyLine: publicKeyLine(raw, comment),
    fingerprint: `SHA256:${digest}`,
  };
};
