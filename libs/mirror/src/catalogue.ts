import {
  mirrorPaths,
  isOfficial,
  parseCatalogue,
  signatureOf,
  trustFault,
  ExternalFailure,
  type MirrorCatalogue,
  type MirrorFile,
  type MirrorTrust,
} from '@fairlead/contracts';
import { catalogueFault } from './signatures.js';
import type { MirrorSource } from './source.js';

/**
 * Reads a mirror's catalogue after verifying its pin or signature. Throws ExternalFailure with a remedy if it is missing
 * or does not match.
 */
export const catalogueOf = async (source: MirrorSource, trust: MirrorTrust): Promise<MirrorCatalogue> => {
  const fault = trustFault(source.location, isOfficial(source.location), trust);
  if (fault !== undefined) throw failure('trust the mirror', source.location, `it ${fault}`);
  const text = await source.readText(mirrorPaths.catalogue);
  if (text === undefined)
    throw failure(
      'read the mirror catalogue',
      source.location,
      `there is no ${mirrorPaths.catalogue}: it is no mirror with checksums and images. "npm run kubernetes:build" makes one.`,
    );
  const wrong = await catalogueFault(text, trust, () => source.readText(signatureOf(mirrorPaths.catalogue)));
  if (wrong !== undefined) throw failure('verify the mirror catalogue', source.location, wrong);
  return parseCatalogue(text, source.location);
};

const failure = (operation: string, target: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation, target, message, retryable: false });

/** Deterministic: the same catalogue gives the same bytes. */
export const catalogueText = (catalogue: MirrorCatalogue): string => `${JSON.stringify(catalogue, undefined, 1)}\n`;

/** The checksum file beside this one, in the format of `sha256sum --check`. */
export const sha256Text = ({ path, sha256 }: MirrorFile): string => `${sha256}  ${path.split('/').at(-1) ?? path}\n`;

/** Files for which the official sites publish a `.sha256`, used for verification without a catalogue. */
export const hasSha256Beside = (path: string): boolean =>
  path.startsWith('release/') || path.startsWith('cni-plugins/');

/** Programs are executable, so that an unpacked mirror can be used directly. */
export const modeOf = (path: string): number =>
  /^(release|tools|conformance)\/(?!.*\.tar$)/.test(path) ? 0o755 : 0o644;
