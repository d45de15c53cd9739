import { mirrorPaths, parseCatalogue, WorldFailure, type MirrorCatalogue, type MirrorFile } from '@fairlead/contracts';
import type { MirrorSource } from './source.js';

/** Reads a mirror's catalogue. Throws WorldFailure, with what to do, when there is none. */
export const catalogueOf = async (source: MirrorSource): Promise<MirrorCatalogue> => {
  const text = await source.readText(mirrorPaths.catalogue);
  if (text !== undefined) return parseCatalogue(text, source.location);
  throw new WorldFailure({
    operation: 'read the mirror catalogue',
    target: source.location,
    message: `there is no ${mirrorPaths.catalogue}: it is no mirror with checksums and images. "npm run kubernetes:build" makes one.`,
    retryable: false,
  });
};

/** The same catalogue gives the same bytes. */
export const catalogueText = (catalogue: MirrorCatalogue): string => `${JSON.stringify(catalogue, undefined, 1)}\n`;

/** The file that lies beside this one, as `sha256sum --check` reads it. */
export const sha256Text = ({ path, sha256 }: MirrorFile): string => `${sha256}  ${path.split('/').at(-1) ?? path}\n`;

/** Files that the official sites publish a `.sha256` of, and that whoever knows no catalogue verifies by it. */
export const hasSha256Beside = (path: string): boolean =>
  path.startsWith('release/') || path.startsWith('cni-plugins/');

/** Programs are made executable, so that an unpacked mirror can be used as it lies. */
export const modeOf = (path: string): number =>
  /^(release|tools|conformance)\/(?!.*\.tar$)/.test(path) ? 0o755 : 0o644;
