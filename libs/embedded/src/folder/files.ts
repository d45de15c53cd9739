import { errorCodeOf } from '@fairlead/contracts';
import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

export const SECRET_MODE = 0o600;
const PRIVATE_FOLDER_MODE = 0o700;
const FOLDER_MODE = 0o777;

/**
 * Creates a folder and its missing parents; returns whether it was missing. mkdir's `recursive` is not used: below a
 * file system that cannot create folders (/proc) it never returns.
 */
export const makeFolder = (folder: string, mode: number = FOLDER_MODE): boolean => {
  const missing = missingIn(resolve(folder));
  for (const each of missing) {
    try {
      mkdirSync(each, { mode });
    } catch (error) {
      // Another process may have made it meanwhile.
      if (errorCodeOf(error) !== 'EEXIST' || !isFolder(each)) throw error;
    }
  }
  return missing.length > 0;
};

/** From the outermost inwards. */
const missingIn = (folder: string): readonly string[] =>
  isFolder(folder) ? [] : [...missingIn(dirname(folder)), folder];

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Writes the file atomically: a crash leaves the old one. */
export const writeWhole = (file: string, text: string, mode: number = SECRET_MODE): void => {
  makeFolder(dirname(file), PRIVATE_FOLDER_MODE);
  const temporary = `${file}.${randomUUID()}.tmp`;
  writeFileSync(temporary, text, { mode, flush: true });
  renameSync(temporary, file);
};

/** Like `writeWhole`, unless the file already has that text: a write waits for the disk. */
export const writeUnlessSame = (file: string, text: string): void => {
  if (readIfAny(file) !== text) writeWhole(file, text);
};

/** Like `writeWhole`, and durable after a power failure. */
export const writeDurably = (file: string, text: string): void => {
  writeWhole(file, text);
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
};

/** The text of a file; undefined if it does not exist. */
export const readIfAny = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};
