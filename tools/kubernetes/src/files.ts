import { errorCodeOf } from '@fairlead/contracts';
import { copyFile, link, mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Creates the folder of the file, and returns the path of the file. */
export const folderOf = async (file: string): Promise<string> => {
  await mkdir(dirname(file), { recursive: true });
  return file;
};

/** Links within a file system, and copies between two. Replaces an existing file. */
export const linkOrCopy = async (from: string, to: string): Promise<void> => {
  await rm(to, { force: true });
  try {
    await link(from, to);
  } catch (error) {
    if (!['EXDEV', 'EPERM'].includes(errorCodeOf(error) ?? '')) throw error;
    await copyFile(from, to);
  }
};
