import { errorCodeOf } from '@fairlead/contracts';
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { randomUUID } from 'node:crypto';
import { identityOf, isAlive, type ProcessIdentity } from '../process/identity.js';
import { makeFolder, readIfAny, SECRET_MODE } from './files.js';

const ATTEMPTS_MAX = 20;

export type LockResult =
  | { readonly status: 'taken'; readonly release: () => void }
  | { readonly status: 'held'; readonly holder: ProcessIdentity };

/**
 * Acquires a lock file for this process. A lock held by a process that has ended is taken over. The file is created
 * atomically (by link), so that a partially written holder is never read and considered dead.
 */
export const takeLock = (file: string): LockResult => {
  const own = JSON.stringify(identityOf(process.pid) ?? { pid: process.pid, birth: null });
  makeFolder(dirname(file));
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    if (linkNew(file, own)) return { status: 'taken', release: () => releaseIfOwn(file, own) };
    const held = readIfAny(file);
    if (held === undefined) continue; // Released meanwhile.
    const holder = parseHolder(held);
    if (holder !== undefined && isAlive(holder)) return { status: 'held', holder };
    removeStale(file, held);
  }
  throw new Error(`${file} changed hands ${ATTEMPTS_MAX} times while it was asked for`);
};

/** Whether a living process holds that lock file. */
export const isLockHeld = (file: string): boolean => {
  const holder = parseHolder(readIfAny(file) ?? '');
  return holder !== undefined && isAlive(holder);
};

const linkNew = (file: string, content: string): boolean => {
  const temporary = `${file}.${randomUUID()}`;
  writeFileSync(temporary, content, { mode: SECRET_MODE });
  try {
    linkSync(temporary, file);
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
};

/** Of several processes that see the same stale lock, one moves it away; a fresh lock moved by mistake is put back. */
const removeStale = (file: string, stale: string): void => {
  const moved = `${file}.${randomUUID()}`;
  try {
    renameSync(file, moved);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return;
    throw error;
  }
  const content = readIfAny(moved);
  if (content !== undefined && content !== stale) linkNew(file, content);
  rmSync(moved, { force: true });
};

const releaseIfOwn = (file: string, own: string): void => {
  if (readIfAny(file) === own) rmSync(file, { force: true });
};

const parseHolder = (text: string): ProcessIdentity | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('pid' in value) || typeof value.pid !== 'number')
      return undefined;
    const birth = 'birth' in value && typeof value.birth === 'string' ? value.birth : null;
    return { pid: value.pid, birth };
  } catch {
    return undefined; // Foreign or damaged: not held.
  }
};
