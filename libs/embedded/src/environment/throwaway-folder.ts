import { errorCodeOf } from '@fairlead/contracts';
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLockHeld } from '../folder/lock.js';

const MEMORY_FOLDER = '/dev/shm';
const MEMORY_FREE_MIN_BYTES = 1024 ** 3;
const PREFIX = 'fairlead-test-';
/** A folder without a lock may be one that another process is currently filling. */
const UNLOCKED_AGE_MAX_MS = 10 * 60_000;

/**
 * A new folder for a temporary environment: in memory if there is enough (PostgreSQL's two thousand files take a tenth
 * of a second there, and up to two on a disk), else among the temporary files. Removes those of killed test runs.
 */
export const throwawayFolder = (): string => {
  const parent = hasRoom(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir();
  for (const name of readdirSync(parent)) {
    if (name.startsWith(PREFIX) && isAbandoned(join(parent, name))) removeIfQuiet(join(parent, name));
  }
  return mkdtempSync(join(parent, PREFIX));
};

/** Programs of a killed test run may still be writing: a folder that does not become empty is left to the next run. */
const removeIfQuiet = (folder: string): void => {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOTEMPTY') throw error;
  }
};

const hasRoom = (folder: string): boolean => {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= MEMORY_FREE_MIN_BYTES;
};

const isAbandoned = (folder: string): boolean => {
  const { uid, mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? { uid: -1, mtimeMs: 0 };
  if (uid !== process.getuid?.()) return false;
  const lock = join(folder, 'lock');
  return existsSync(lock) ? !isLockHeld(lock) : Date.now() - mtimeMs > UNLOCKED_AGE_MAX_MS;
};
