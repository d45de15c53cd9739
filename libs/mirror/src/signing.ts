import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCodeOf, mirrorPaths, signatureOf, ExternalFailure } from '@fairlead/contracts';
import { makeFolder } from '@fairlead/embedded/process';
import { writeWhole } from './atomic.js';
import { digestOfFile } from './bytes.js';
import { newSigningKey, publicKeyOf, signatureText, signerOf } from './signatures.js';

const PRIVATE = 0o600;

/** Signs the catalogue of a mirror in a folder; the signature is written beside it. */
export const signMirror = async (folder: string, privateKey: string): Promise<void> => {
  const catalogue = join(folder, mirrorPaths.catalogue);
  await signFile(catalogue, 'catalogue', privateKey);
};

export const signBundle = (file: string, privateKey: string): Promise<void> => signFile(file, 'bundle', privateKey);

const signFile = async (file: string, kind: 'catalogue' | 'bundle', privateKey: string): Promise<void> => {
  const { sha256 } = await digestOfFile(file);
  await writeWhole(signatureOf(file), signatureText(privateKey, kind, sha256));
};

/** The trusted key that signed the archive with this checksum. Throws ExternalFailure if none did. */
export const bundleSigner = async (file: string, sha256: string, trusted: readonly string[]): Promise<string> => {
  const text = await textOf(signatureOf(file));
  const signer = text === undefined ? undefined : signerOf(text, 'bundle', sha256, trusted);
  if (signer !== undefined) return signer;
  throw new ExternalFailure({
    operation: 'verify the bundle',
    target: file,
    message:
      text === undefined
        ? 'it is not signed: there is no signature beside it'
        : 'none of the keys that were given has signed it',
    retryable: false,
  });
};

/** A signature of the previous file is not valid for the current one. */
export const removeSignature = (file: string): Promise<void> => rm(signatureOf(file), { force: true });

/** Creates the key if it does not exist. Returns its PEM and its public key. */
export const ensureSigningKey = async (file: string): Promise<{ privateKey: string; publicKey: string }> => {
  const known = await textOf(file);
  if (known !== undefined) return { privateKey: known, publicKey: publicKeyOf(known) };
  const made = newSigningKey();
  makeFolder(dirname(file));
  await writeWhole(file, made.privateKey, PRIVATE);
  return made;
};

const textOf = async (file: string): Promise<string | undefined> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};
