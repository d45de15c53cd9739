import { createHash } from 'node:crypto';
import { createGunzip, createGzip } from 'node:zlib';
import { pipeline } from 'node:stream';
import { Readable } from 'node:stream';
import {
  errorCodeOf,
  type MirrorCatalogue,
  type MirrorFile,
  mirrorPaths,
  type MirrorTrust,
  parseCatalogue,
  partOf,
  signatureOf,
  wordsOf,
  ExternalFailure,
} from '@fairlead/contracts';
import { writeWhole } from './atomic.js';
import { bytesOfFile, digestOf, verified, type Bytes, type Digest } from './bytes.js';
import { catalogueOf, catalogueText, hasSha256Beside, modeOf, sha256Text } from './catalogue.js';
import type { Downloads } from './downloads.js';
import { signatureText } from './signatures.js';
import { removeSignature, signBundle } from './signing.js';
import type { MirrorSource } from './source.js';
import { fileEntry, readTar, TAR_END, TarError, tarHeader, tarPadding } from './tar.js';

/**
 * A bundle is the part of a mirror that some versions need, as one gzipped tar: its catalogue first, then every file in
 * the mirror's own layout. The same mirror, versions and key give the same bytes.
 */

export interface Progress {
  /** The file being read. */
  readonly path: string;
  /** Bytes of the files, before compression. */
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface BundleRequest {
  readonly source: MirrorSource;
  /** How the source's catalogue is verified. */
  readonly trust: MirrorTrust;
  /** PEM of the key that signs the bundle and its catalogue; absent: unsigned. */
  readonly signingKey?: string;
  readonly versions: readonly string[];
  readonly file: string;
  /** Cache for downloaded files until the bundle is complete; absent: they are streamed from the source. */
  readonly downloads?: Downloads;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Bundle extends Digest {
  readonly catalogue: MirrorCatalogue;
}

/** Higher levels are slow and save little: Go programs shrink to about a third at any level. */
const GZIP_LEVEL = 4;
const CATALOGUE_BYTES_MAX = 16 * 1024 * 1024;

/** Creates the archive atomically. Throws ExternalFailure with the file's name if one differs from the catalogue. */
export const createBundle = async (request: BundleRequest): Promise<Bundle> => {
  const { source, trust, versions, file, downloads, signingKey } = request;
  const catalogue = partOf(await catalogueOf(source, trust), versions, source.location);
  const hash = createHash('sha256');
  let size = 0;
  const compressed = gzipped(archiveOf(catalogue, request));
  const noted = (async function* () {
    for await (const chunk of compressed) {
      hash.update(chunk);
      size += chunk.byteLength;
      yield chunk;
    }
  })();
  await removeSignature(file);
  await writeWhole(file, noted);
  if (signingKey !== undefined) await signBundle(file, signingKey);
  await downloads?.forget(catalogue.files);
  return { catalogue, sha256: hash.digest('hex'), size };
};

async function* archiveOf(catalogue: MirrorCatalogue, request: BundleRequest): AsyncGenerator<Uint8Array, void> {
  const { source, downloads, onProgress, signingKey } = request;
  const totalBytes = catalogue.files.reduce((sum, { size }) => sum + size, 0);
  let doneBytes = 0;
  const text = Buffer.from(catalogueText(catalogue));
  yield* member(mirrorPaths.catalogue, text);
  if (signingKey !== undefined) {
    const signature = signatureText(signingKey, 'catalogue', createHash('sha256').update(text).digest('hex'));
    yield* member(signatureOf(mirrorPaths.catalogue), Buffer.from(signature));
  }
  for (const file of catalogue.files) {
    const bytes = downloads?.fetch(file, source) ?? source.read(file.path);
    yield tarHeader(fileEntry(file.path, file.size, modeOf(file.path)));
    for await (const chunk of verified(bytes, file, source.location)) {
      doneBytes += chunk.byteLength;
      onProgress?.({ path: file.path, doneBytes, totalBytes });
      yield chunk;
    }
    yield tarPadding(file.size);
    if (hasSha256Beside(file.path)) yield* member(mirrorPaths.sha256(file.path), Buffer.from(sha256Text(file)));
  }
  yield TAR_END;
}

function* member(path: string, content: Buffer): Generator<Uint8Array, void> {
  yield tarHeader(fileEntry(path, content.length));
  yield content;
  yield tarPadding(content.length);
}

/** Errors of either stream are reported to the reader: the pipeline destroys the other one. */
const gzipped = (bytes: Bytes): Bytes => {
  const gzip = createGzip({ level: GZIP_LEVEL });
  pipeline(Readable.from(bytes, { objectMode: false }), gzip, () => undefined);
  return gzip;
};

/**
 * Reads and verifies a whole bundle: every file of the catalogue is there with the right content, and nothing else.
 * Throws ExternalFailure.
 */
export const inspectBundle = async (path: string): Promise<Bundle> => {
  const hash = createHash('sha256');
  let size = 0;
  const noted = (async function* () {
    for await (const chunk of bytesOfFile(path)) {
      hash.update(chunk);
      size += chunk.byteLength;
      yield chunk;
    }
  })();
  const gunzip = createGunzip();
  pipeline(Readable.from(noted, { objectMode: false }), gunzip, () => undefined);
  try {
    const catalogue = await verifyMembers(gunzip, path);
    return { catalogue, sha256: hash.digest('hex'), size };
  } catch (error) {
    if (error instanceof ExternalFailure) throw error;
    if (error instanceof TarError || isGzipError(error)) throw broken(path, wordsOf(error), error);
    throw new ExternalFailure({ operation: 'read the bundle', target: path, message: wordsOf(error), cause: error });
  }
};

const verifyMembers = async (archive: Bytes, location: string): Promise<MirrorCatalogue> => {
  let catalogue: MirrorCatalogue | undefined;
  const missing = new Map<string, MirrorFile>();
  const beside = new Map<string, MirrorFile>();
  for await (const { entry, content } of readTar(archive)) {
    if (catalogue === undefined) {
      if (entry.path !== mirrorPaths.catalogue)
        throw broken(location, `it begins with ${entry.path}, not its catalogue`);
      catalogue = parseCatalogue(await textOf(content), location);
      for (const file of catalogue.files) missing.set(file.path, file);
      continue;
    }
    // The signature is verified when the bundle is unpacked; here the archive is checked against its catalogue.
    if (entry.path === signatureOf(mirrorPaths.catalogue)) {
      await textOf(content);
      continue;
    }
    const file = missing.get(entry.path);
    if (file !== undefined) {
      await digestOf(verified(content, file, location));
      missing.delete(entry.path);
      if (hasSha256Beside(file.path)) beside.set(mirrorPaths.sha256(file.path), file);
      continue;
    }
    const described = beside.get(entry.path);
    if (described === undefined) throw broken(location, `${entry.path} is not in its catalogue, or there twice`);
    if ((await textOf(content)) !== sha256Text(described))
      throw broken(location, `${entry.path} says another checksum`);
    beside.delete(entry.path);
  }
  const [absent] = [...missing.keys(), ...beside.keys()];
  if (catalogue === undefined) throw broken(location, 'it is empty');
  if (absent !== undefined) throw broken(location, `${absent} is missing`);
  return catalogue;
};

const textOf = async (content: Bytes): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of content) {
    size += part.byteLength;
    if (size > CATALOGUE_BYTES_MAX) throw new TarError('a text that is far too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
};

const isGzipError = (error: unknown): boolean => errorCodeOf(error)?.startsWith('Z_') === true;

const broken = (target: string, message: string, cause?: unknown): ExternalFailure =>
  new ExternalFailure({ operation: 'verify the bundle', target, message, retryable: false, cause });
