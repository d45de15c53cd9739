import { errorCodeOf } from '@fairlead/contracts';
import { createReadStream } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MirrorFile } from '@fairlead/contracts';
import { isAlive, makeFolder } from '@fairlead/embedded/process';
import { digestOfFile, verified, type Bytes } from './bytes.js';
import type { MirrorSource } from './source.js';

/**
 * Downloads for a bundle, by checksum: an interrupted download resumes where it stopped, in this process or the next.
 */
export class Downloads {
  constructor(
    private readonly folder: string,
    private readonly pid = process.pid,
  ) {}

  /** The file's bytes, completely downloaded before the first is returned. */
  async *fetch(file: MirrorFile, source: MirrorSource): AsyncGenerator<Uint8Array, void> {
    yield* createReadStream(await this.ensure(file, source), { highWaterMark: 1 << 20 });
  }

  /** Removes files that a bundle now contains. */
  async forget(files: readonly MirrorFile[]): Promise<void> {
    for (const file of files) await rm(this.pathOf(file), { force: true });
  }

  private pathOf({ sha256 }: MirrorFile): string {
    return join(this.folder, sha256);
  }

  /** Verified before the file gets its final name; a corrupt part is deleted, so that the next attempt starts again. */
  private async ensure(file: MirrorFile, source: MirrorSource): Promise<string> {
    const path = this.pathOf(file);
    const whole = await sizeOf(path);
    if (whole === file.size) return path;
    makeFolder(this.folder);
    const part = await this.claimPart(file);
    const from = (await sizeOf(part)) ?? 0;
    if (from > file.size) await rm(part);
    await append(part, source.read(file.path, from > file.size ? 0 : from), file.size);
    await this.confirm(part, file, source.location);
    await rename(part, path);
    return path;
  }

  /**
   * This process' own part of a file, so that no other process writes to it; may continue that of a process that has
   * ended.
   */
  private async claimPart({ sha256 }: MirrorFile): Promise<string> {
    const names = await readdir(this.folder);
    const own = `${sha256}.${this.pid}.part`;
    const left = names.find((name) => name.startsWith(sha256) && isLeft(name));
    if (left !== undefined && !names.includes(own))
      await renameIfThere(join(this.folder, left), join(this.folder, own));
    return join(this.folder, own);
  }

  private async confirm(part: string, file: MirrorFile, location: string): Promise<void> {
    const found = await digestOfFile(part);
    if (found.sha256 === file.sha256) return;
    const bytes = createReadStream(part);
    try {
      for await (const _ of verified(bytes, file, location)) continue;
    } finally {
      bytes.destroy();
      await rm(part, { force: true });
    }
  }
}

const PART = /\.(\d+)\.part$/;

const isLeft = (name: string): boolean => {
  const pid = PART.exec(name)?.[1];
  return pid !== undefined && !isAlive({ pid: Number(pid), birth: null });
};

/** The file may be missing if another process has just claimed it. */
const renameIfThere = async (from: string, to: string): Promise<void> => {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isAbsence(error)) throw error;
  }
};

const append = async (path: string, bytes: Bytes, sizeMax: number): Promise<void> => {
  const file = await open(path, 'a');
  try {
    let { size } = await file.stat();
    for await (const chunk of bytes) {
      await file.write(chunk);
      size += chunk.byteLength;
      if (size > sizeMax) return; // Too long; the subsequent check reports that.
    }
    await file.sync();
  } finally {
    await file.close();
  }
};

const sizeOf = async (path: string): Promise<number | undefined> => {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
};

const isAbsence = (error: unknown): boolean => errorCodeOf(error) === 'ENOENT';
