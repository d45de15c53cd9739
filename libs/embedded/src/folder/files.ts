import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../faults.js';

export const SECRET_MODE = 0o600;
const PRIVATE_FOLDER_MODE = 0o700;

/** Writes the whole file or nothing: a crash leaves the old one. */
export const writeWhole = (file: string, text: string, mode: number = SECRET_MODE): void => {
  mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const temporary = `${file}.${randomUUID()}.tmp`;
  writeFileSync(temporary, text, { mode, flush: true });
  renameSync(temporary, file);
};

/** The text of a file, or undefined when there is none. */
export const readIfAny = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};
