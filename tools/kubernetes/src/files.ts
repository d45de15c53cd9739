import { errorCodeOf } from '@fairlead/contracts';
import { copyFile, link, mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes the folder that the file must be in, and gives the file back. */
export const folderOf = async (file: string): Promise<string> => {
  await mkdir(dirname(file), { recursive: true });
  return file;
};

/** Within one file system nothing is copied. What was there under that name is replaced. */
export const linkOrCopy = async (from: string, to: string): Promise<void> => {
  await rm(to, { force: true });
  try {
    await link(from, to);
  } catch (error) {
    if (!['EXDEV', 'EPERM'].includes(errorCodeOf(error) ?? '')) throw error;
    await copyFile(from, to);
  }
};
