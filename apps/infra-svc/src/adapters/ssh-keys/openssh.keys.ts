import ssh2 from 'ssh2';
import type { KeyPair, SshKeys } from '../../resources/resources.ports.js';

/**
 * ssh2 1.17 strips leading zero bytes from an ed25519 public key, which makes one key in 256 invalid
 * (mscdex/ssh2#1513). Such a key is discarded and generated again; this many in a row do not occur.
 */
const DRAWS_MAX = 16;

const publicHalfOf = (privateKey: string): { type: string; blob: Buffer } => {
  const parsed = ssh2.utils.parseKey(privateKey);
  if (parsed instanceof Error) throw new Error('this is not an SSH key', { cause: parsed });
  const [key] = Array.isArray(parsed) ? parsed : [parsed];
  if (key === undefined) throw new Error('this holds no SSH key');
  return { type: key.type, blob: key.getPublicSSH() };
};

const isReadable = (key: string): boolean => !(ssh2.utils.parseKey(key) instanceof Error);

/** Keys in OpenSSH's format, which node-ssh and every sshd read. */
export const opensshKeys: SshKeys = {
  generate: (comment): KeyPair => {
    for (let draw = 0; draw < DRAWS_MAX; draw += 1) {
      const pair = ssh2.utils.generateKeyPairSync('ed25519', { comment });
      if (isReadable(pair.private) && isReadable(pair.public)) {
        return { privateKey: pair.private, publicKey: pair.public.trim() };
      }
    }
    throw new Error(`none of ${DRAWS_MAX} generated SSH keys can be read`);
  },

  read: (privateKey, comment): KeyPair => {
    const { type, blob } = publicHalfOf(privateKey);
    return { privateKey, publicKey: `${type} ${blob.toString('base64')} ${comment}` };
  },
};
