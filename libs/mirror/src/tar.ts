import type { Bytes } from './bytes.js';

/**
 * Reproducible tar archives: the same content gives the same bytes, every owner is root, every time is 1970. Reads
 * ustar and GNU long names, which dpkg-deb, GNU tar and this writer create.
 */
export interface TarEntry {
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink';
  /** Permission bits. */
  readonly mode: number;
  /** Bytes of content; 0 except for files. */
  readonly size: number;
  /** Target of a symlink; empty for others. */
  readonly target: string;
}

const BLOCK = 512;
const TYPE_FLAGS = { file: '0', directory: '5', symlink: '2' } as const;
const SIZE_MAX = 8 ** 11 - 1;
/** GNU long names are paths: a longer one is not a path. */
const LONG_NAME_MAX = 8192;

/** Ends an archive. */
export const TAR_END = Buffer.alloc(2 * BLOCK);

export const fileEntry = (path: string, size: number, mode = 0o644): TarEntry => ({
  path,
  type: 'file',
  mode,
  size,
  target: '',
});
export const directoryEntry = (path: string, mode = 0o755): TarEntry => ({
  path,
  type: 'directory',
  mode,
  size: 0,
  target: '',
});
export const symlinkEntry = (path: string, target: string): TarEntry => ({
  path,
  type: 'symlink',
  mode: 0o777,
  size: 0,
  target,
});

/** The padding after content of this size. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/** A ustar header. Throws RangeError for what ustar cannot represent: long paths, and files of 8 GiB or more. */
export const tarHeader = (entry: TarEntry): Buffer => {
  if (entry.size > SIZE_MAX) throw new RangeError(`${entry.path} is too large for a tar archive`);
  const [prefix, name] = splitPath(entry.type === 'directory' ? `${entry.path}/` : entry.path);
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0, 100);
  header.write(octal(entry.mode, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(entry.size, 11), 124);
  header.write(octal(0, 11), 136);
  header.write(' '.repeat(8), 148);
  header.write(TYPE_FLAGS[entry.type], 156);
  if (Buffer.byteLength(entry.target) > 100) throw new RangeError(`${entry.path} points to too long a path`);
  header.write(entry.target, 157, 100);
  header.write('ustar\u000000', 257);
  header.write('root', 265);
  header.write('root', 297);
  header.write(prefix, 345, 155);
  header.write(`${octal(checksumOf(header), 6)}\0 `, 148);
  return header;
};

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

const checksumOf = (header: Buffer): number => header.reduce((sum, byte) => sum + byte, 0);

/** ustar has 100 bytes for the name and 155 for the folders before it. */
const splitPath = (path: string): readonly [prefix: string, name: string] => {
  if (Buffer.byteLength(path) <= 100) return ['', path];
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155 && name !== '') return [prefix, name];
  }
  throw new RangeError(`${path} is too long for a tar archive`);
};

export interface TarMember {
  readonly entry: TarEntry;
  /** Must be read before the next member is requested; the rest is skipped. */
  readonly content: Bytes;
}

/** The archive cannot be read: it is truncated, or not a tar archive. */
export class TarError extends Error {
  override readonly name = 'TarError';
}

/** Reads the members one by one. Kinds other than files, directories and symlinks are skipped. */
export async function* readTar(archive: Bytes): AsyncGenerator<TarMember, void, undefined> {
  const reader = new BlockReader(archive);
  let longPath: string | undefined;
  let longTarget: string | undefined;
  for (;;) {
    const header = await reader.block();
    if (header === undefined || header.every((byte) => byte === 0)) return;
    const { flag, ...read } = parseHeader(header);
    if (flag === 'L' || flag === 'K') {
      if (read.size > LONG_NAME_MAX) throw new TarError(`a name of ${read.size} bytes`);
      const text = textOf(Buffer.concat(await reader.all(read.size)));
      if (flag === 'L') longPath = text;
      else longTarget = text;
      continue;
    }
    if (flag === 'x' || flag === 'g') throw new TarError('pax headers are not understood');
    const type = typeOf(flag);
    const content = reader.content(read.size);
    if (type !== undefined) {
      const path = (longPath ?? read.path).replace(/^\.\//, '').replace(/(?<!\/)\/+$/, '');
      const entry = { path, type, mode: read.mode, size: read.size, target: longTarget ?? read.target };
      yield { entry, content };
    }
    [longPath, longTarget] = [undefined, undefined];
    for await (const _ of content) continue; // What the caller did not read.
  }
}

const typeOf = (flag: string): TarEntry['type'] | undefined => {
  if (flag === '0' || flag === '\0') return 'file';
  if (flag === '5') return 'directory';
  return flag === '2' ? 'symlink' : undefined;
};

const textOf = (field: Buffer): string => {
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? field.length : end);
};

const numberOf = (field: Buffer): number => {
  const value = Number.parseInt(textOf(field).trim() || '0', 8);
  if (!Number.isSafeInteger(value) || value < 0) throw new TarError('a header without a number where one belongs');
  return value;
};

const parseHeader = (header: Buffer) => {
  const blank = Buffer.from(header);
  blank.fill(' ', 148, 156);
  if (numberOf(header.subarray(148, 156)) !== checksumOf(blank)) throw new TarError('a header with a wrong checksum');
  const name = textOf(header.subarray(0, 100));
  const isUstar = header.toString('latin1', 257, 263) === 'ustar\0';
  const prefix = isUstar ? textOf(header.subarray(345, 500)) : '';
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    mode: numberOf(header.subarray(100, 108)) & 0o7777,
    size: numberOf(header.subarray(124, 136)),
    flag: header.toString('latin1', 156, 157),
    target: textOf(header.subarray(157, 257)),
  };
};

/** Splits a stream into the blocks of tar. */
class BlockReader {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(archive: Bytes) {
    this.chunks = archive[Symbol.asyncIterator]();
  }

  /** The next 512 bytes; undefined at the end of the stream. */
  async block(): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    for (let missing = BLOCK; missing > 0;) {
      const part = await this.some(missing);
      if (part === undefined && parts.length === 0) return undefined;
      if (part === undefined) throw new TarError('it ends in the middle of a header');
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  }

  async all(size: number): Promise<Buffer[]> {
    const parts: Buffer[] = [];
    for await (const part of this.content(size)) parts.push(part);
    return parts;
  }

  /** Content and its padding; may be read partly by the caller, and the rest by whoever skips it. */
  content(size: number): AsyncIterableIterator<Buffer> {
    let missing = size;
    let padding = tarPadding(size).length;
    const next = async (): Promise<IteratorResult<Buffer, undefined>> => {
      while (missing > 0 || padding > 0) {
        const part = await this.some(missing > 0 ? missing : padding);
        if (part === undefined) throw new TarError('it ends in the middle of a file');
        if (missing === 0) {
          padding -= part.length;
          continue;
        }
        missing -= part.length;
        return { done: false, value: part };
      }
      return { done: true, value: undefined };
    };
    const content: AsyncIterableIterator<Buffer> = { next, [Symbol.asyncIterator]: () => content };
    return content;
  }

  /** At least one byte and at most this many; undefined at the end of the stream. */
  private async some(most: number): Promise<Buffer | undefined> {
    while (this.rest.length === 0) {
      const { done, value } = await this.chunks.next();
      if (done === true) return undefined;
      this.rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const part = this.rest.subarray(0, most);
    this.rest = this.rest.subarray(part.length);
    return part;
  }
}
