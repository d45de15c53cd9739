import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto';
import {
  parseSignatures,
  signedStatement,
  ExternalFailure,
  wordsOf,
  type MirrorTrust,
  type SignedKind,
} from '@fairlead/contracts';

/** Detached Ed25519 signatures of catalogues and bundles: a `.sig` file of lines `<public key> <signature>` beside each. */

/** DER prefix of the 32 bytes of an Ed25519 public key (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const SCHEME = 'ed25519:';

export interface SigningKeyPair {
  /** PKCS #8, PEM. */
  readonly privateKey: string;
  /** In the format of connection settings. */
  readonly publicKey: string;
}

export const newSigningKey = (): SigningKeyPair => {
  const { privateKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: textOfKey(createPublicKey(privateKey)),
  };
};

/** The public key of a private one in PEM. Throws ExternalFailure, without the text, if it is not an Ed25519 key. */
export const publicKeyOf = (privateKey: string): string => textOfKey(createPublicKey(privateKeyIn(privateKey)));

/** The content of the `.sig` file for a file with this SHA-256. */
export const signatureText = (privateKey: string, kind: SignedKind, sha256: string): string => {
  const key = privateKeyIn(privateKey);
  const signature = sign(null, Buffer.from(signedStatement(kind, sha256)), key).toString('base64');
  return `${textOfKey(createPublicKey(key))} ${signature}\n`;
};

/** The trusted key that signed it; undefined: none. */
export const signerOf = (
  text: string,
  kind: SignedKind,
  sha256: string,
  trusted: readonly string[],
): string | undefined => {
  const statement = Buffer.from(signedStatement(kind, sha256));
  return parseSignatures(text).find(
    ({ key, signature }) =>
      trusted.includes(key) && verify(null, statement, keyOfText(key), Buffer.from(signature, 'base64')),
  )?.key;
};

/** Why this catalogue must not be used, as the end of a sentence; undefined: it is pinned or signed as required. */
export const catalogueFault = async (
  text: string,
  { catalogueSha256, signedBy }: MirrorTrust,
  readSignatures: () => Promise<string | undefined>,
): Promise<string | undefined> => {
  const sha256 = createHash('sha256').update(text).digest('hex');
  if (catalogueSha256 !== undefined && sha256 !== catalogueSha256)
    return `its SHA-256 is ${sha256}, not ${catalogueSha256}`;
  if (signedBy === undefined) return undefined;
  const signatures = await readSignatures();
  if (signatures === undefined) return 'it is not signed: there is no signature beside it';
  return signerOf(signatures, 'catalogue', sha256, signedBy) === undefined
    ? 'none of the keys that its source trusts has signed it'
    : undefined;
};

const textOfKey = (key: KeyObject): string =>
  SCHEME + key.export({ type: 'spki', format: 'der' }).subarray(SPKI_PREFIX.length).toString('base64');

const keyOfText = (text: string): KeyObject =>
  createPublicKey({
    key: Buffer.concat([SPKI_PREFIX, Buffer.from(text.slice(SCHEME.length), 'base64')]),
    format: 'der',
    type: 'spki',
  });

const privateKeyIn = (pem: string): KeyObject => {
  const key = keyIn(pem);
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw noKey(`it is ${key.asymmetricKeyType ?? 'another kind of key'}`);
};

const keyIn = (pem: string): KeyObject => {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw noKey(wordsOf(error));
  }
};

const noKey = (message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'read the signing key', target: 'Ed25519', message, retryable: false });
