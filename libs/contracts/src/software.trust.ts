import * as z from 'zod';
import { MirrorPath, Sha256 } from './digests.js';
import { limitedRecord } from './limited.record.js';

/**
 * Why the content of a mirror can be trusted: the connection pins its catalogue, or names the keys that sign it, or
 * pins the files themselves. The transport is never trusted.
 */

/** The 32 bytes of an Ed25519 public key in base64. */
export const SigningKey = z.string().regex(/^ed25519:[A-Za-z0-9+/]{43}=$/, {
  error: 'is not a public key as "fairlead bundle key" prints it: ed25519: and 44 characters of base64',
});

export const SIGNERS_MAX = 8;
const DIGESTS_MAX = 256;

export const SignedBy = z.array(SigningKey).min(1).max(SIGNERS_MAX);

/** Trust settings of a software source with files. */
export const MirrorTrust = z.strictObject({
  catalogueSha256: Sha256.optional().describe('SHA-256 of the catalogue.json that may be used, and of no other'),
  signedBy: SignedBy.optional().describe('Public keys; one of them must have signed catalogue.json'),
  digests: limitedRecord(MirrorPath, Sha256, DIGESTS_MAX)
    .optional()
    .describe('SHA-256 of files that no catalogue names, by their paths: releases that Fairlead has no digests of'),
  unsigned: z.literal(true).optional().describe('Use a catalogue that is neither signed nor pinned; never over http'),
});
export type MirrorTrust = z.infer<typeof MirrorTrust>;

/** Whether catalogue.json is trusted; otherwise only files with known digests can be used. */
export const usesCatalogue = ({ catalogueSha256, signedBy, unsigned }: MirrorTrust): boolean =>
  catalogueSha256 !== undefined || signedBy !== undefined || unsigned === true;

const HINT = 'give catalogueSha256, signedBy or digests';

/** Why files of this location cannot be verified, as the end of a sentence; undefined: they can be. */
export const trustFault = (location: string, official: boolean, trust: MirrorTrust): string | undefined => {
  const isPinned = trust.catalogueSha256 !== undefined || trust.signedBy !== undefined;
  if (isPinned && trust.unsigned === true) return 'is unsigned and pinned or signed at the same time';
  if (/^http:/i.test(location) && trust.unsigned === true)
    return `is http, which anybody on the way can change: ${HINT}`;
  if (official || isPinned || trust.unsigned === true || trust.digests !== undefined) return undefined;
  return `says nothing by which its files can be checked: ${HINT}, or unsigned for a catalogue that is taken as it is`;
};

/**
 * The purpose of a signature: content of any length is signed by its digest, and each signature is valid for one
 * purpose.
 */
export type SignedKind = 'catalogue' | 'bundle' | 'releases';

/** The text that an Ed25519 signature covers. */
export const signedStatement = (kind: SignedKind, sha256: string): string => `fairlead ${kind} ${sha256}\n`;

/** One line of a `.sig` file. */
export interface DetachedSignature {
  readonly key: string;
  /** Base64. */
  readonly signature: string;
}

const SIGNATURE_LINE = /^(ed25519:[A-Za-z0-9+/]{43}=) ([A-Za-z0-9+/]{86}==)$/;
const SIGNATURE_TEXT_MAX = 4_096;

/** Parses the signatures in a `.sig` file, at most SIGNERS_MAX; other lines are ignored. */
export const parseSignatures = (text: string): readonly DetachedSignature[] =>
  text
    .slice(0, SIGNATURE_TEXT_MAX)
    .split('\n')
    .flatMap((line) => {
      const [, key, signature] = SIGNATURE_LINE.exec(line) ?? [];
      return key === undefined || signature === undefined ? [] : [{ key, signature }];
    })
    .slice(0, SIGNERS_MAX);

/** The path of a file's signatures, beside it. */
export const signatureOf = (path: string): string => `${path}.sig`;
