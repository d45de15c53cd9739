import { ExternalFailure } from '@fairlead/contracts';
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { HostFiles, SourceFiles } from '../../files/files.ports.js';
import { isMissing } from './real.files.js';

/** Software in a folder of the host: files are read in place, and copied only where required. */
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
        throw new ExternalFailure({ operation: 'read', target: address(path), message: 'there is no such file' });
      await files.copy(address(path), to, mode);
      // Hashes the written file, not the source.
      return files.sha256(to);
    },

    inPlace: address,
  };
};
