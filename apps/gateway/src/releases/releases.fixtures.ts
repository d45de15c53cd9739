import { createHash } from 'node:crypto';
import { releaseOf, RELEASE_CATALOGUE_FORMAT, type KubernetesRelease } from '@fairlead/contracts';
import { newSigningKey, signatureText } from '@fairlead/mirror/signatures';

export const key = newSigningKey();

/** A release like that of v1.34.11, without digests. */
export const row = (version: string): KubernetesRelease => ({
  ...releaseOf('v1.34.11')!,
  version,
  verified: 'listed',
  sha256: null,
});

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A catalogue, and its signature by `key` for `kind`. */
export const signed = (
  document: object,
  privateKey = key.privateKey,
  kind: 'releases' | 'catalogue' = 'releases',
): { readonly catalogue: string; readonly signatures: string } => {
  const catalogue = JSON.stringify({
    format: RELEASE_CATALOGUE_FORMAT,
    sequence: 1,
    expires: '2100-01-01T00:00:00Z',
    releases: [row('v1.34.12')],
    ...document,
  });
  return { catalogue, signatures: signatureText(privateKey, kind, sha256Of(catalogue)) };
};
