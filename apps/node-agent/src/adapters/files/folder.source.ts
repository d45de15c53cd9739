import { WorldFailure } from '@fairlead/contracts';
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { HostFiles, SourceFiles } from '../../files/files.ports.js';
import { isMissing } from './real.files.js';

/** A folder of the host itself: its files are read where they are, and copied once where they must be. */
export const folderSource = (folder: string, files: HostFiles): SourceFiles => {
  const address = (path: string): string => posix.join(folder, path);
  return {
    address,

    text: async (path) => {
      try {
        return await readFile(files.at(address(path)), 'utf8');
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },

    get: async (path, to, mode) => {
      if ((await files.stat(address(path))) === undefined)
        throw new WorldFailure({ operation: 'read', target: address(path), message: 'there is no such file' });
      await files.copy(address(path), to, mode);
      // What was written is what counts, not what was there to read.
      return files.sha256(to);
    },

    inPlace: address,
  };
};
