import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join, basename } from 'node:path';
import type { Bytes } from './bytes.js';

/** Beside its target, so that the rename at the end stays within a file system; each writer has its own file. */
const beside = (path: string): string => join(dirname(path), `.${basename(path)}.${randomUUID()}.part`);

/**
 * Writes a file atomically: a temporary file beside it, flushed to the disk, renamed. If the input ends early, nothing
 * is left behind.
 */
export const writeWhole = async (path: string, bytes: Bytes | string, mode = 0o644): Promise<void> => {
  const temporary = beside(path);
  try {
    const file = await open(temporary, 'w', mode);
    try {
      await file.chmod(mode); // Regardless of the umask.
      if (typeof bytes === 'string') await file.writeFile(bytes);
      else for await (const chunk of bytes) await file.write(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
};
