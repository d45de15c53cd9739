import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { ExternalFailure, type MirrorFile } from '@fairlead/contracts';

export type Bytes = AsyncIterable<Uint8Array>;

const READ_CHUNK_BYTES = 1 << 20;

export const bytesOfFile = (path: string): Bytes => createReadStream(path, { highWaterMark: READ_CHUNK_BYTES });

export interface Digest {
  readonly sha256: string;
  /** In bytes. */
  readonly size: number;
}

export const digestOf = async (bytes: Bytes): Promise<Digest> => {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    size += chunk.byteLength;
  }
  return { sha256: hash.digest('hex'), size };
};

export const digestOfFile = (path: string): Promise<Digest> => digestOf(bytesOfFile(path));

/** The same bytes; fails with the file's name as soon as there are too many, or at the end if the checksum differs. */
export async function* verified(bytes: Bytes, file: MirrorFile, location: string): AsyncGenerator<Uint8Array, void> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.byteLength;
    if (size > file.size) throw mismatch(file, location, `more than the ${file.size} bytes that its catalogue says`);
    hash.update(chunk);
    yield chunk;
  }
  if (size < file.size) throw mismatch(file, location, `${size} bytes instead of ${file.size}`);
  const sha256 = hash.digest('hex');
  if (sha256 !== file.sha256) throw mismatch(file, location, `SHA-256 ${sha256} instead of ${file.sha256}`);
}

const mismatch = (file: MirrorFile, location: string, found: string): ExternalFailure =>
  new ExternalFailure({
    operation: `verify ${file.path}`,
    target: location,
    message: `the file is not the one of the catalogue: ${found}`,
    retryable: false,
  });
