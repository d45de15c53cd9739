import { errorCodeOf } from '@fairlead/contracts';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, constants, copyFile, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { HostFiles } from '../../files/files.ports.js';

const READ_BYTES = 1024 * 1024;

export const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(errorCodeOf(error) ?? '');

const syncToDisk = async (path: string): Promise<void> => {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
};

/** The machine's files below `root`, which is empty on a real host. */
export const realFiles = (root: string): HostFiles => {
  const at = (path: string): string => (root === '' ? path : join(root, path));
  return {
    at,

    stat: async (path) => {
      try {
        const { dev, ino, size, mtimeNs, ctimeNs } = await stat(at(path), { bigint: true });
        const identity = `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
        return { identity, size: Number(size), modifiedMs: Number(mtimeNs / 1_000_000n) };
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },

    sha256: async (path) => {
      const hash = createHash('sha256');
      await pipeline(createReadStream(at(path), { highWaterMark: READ_BYTES }), hash);
      return hash.digest('hex');
    },

    copy: async (from, to, mode) => {
      await mkdir(dirname(at(to)), { recursive: true });
      await copyFile(at(from), at(to), constants.COPYFILE_FICLONE);
      await chmod(at(to), mode);
      await syncToDisk(at(to));
    },

    makeFolder: async (path) => {
      await mkdir(at(path), { recursive: true });
    },

    list: async (folder) => {
      try {
        return await readdir(at(folder));
      } catch (error) {
        if (isMissing(error)) return [];
        throw error;
      }
    },

    remove: (path) => rm(at(path), { recursive: true, force: true }),
  };
};
