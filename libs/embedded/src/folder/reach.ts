import { statSync } from 'node:fs';
import { dirname } from 'node:path';

const OTHERS_MAY_ENTER = 0o001;
const OTHERS_MAY_WRITE = 0o022;

/**
 * Whether a user who owns nothing on the path can enter the folder. (A folder below a home of mode 0700 is
 * inaccessible.)
 */
export const isOpenToOthers = (folder: string): boolean => {
  for (let at = folder; ; at = dirname(at)) {
    if ((statSync(at).mode & OTHERS_MAY_ENTER) === 0) return false;
    if (at === dirname(at)) return true;
  }
};

/**
 * Whether a folder of the cache, or a program in it, belongs to this user or to root and is not writable by others:
 * only then may it be run.
 */
export const isTrusted = (path: string): boolean => {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  return (found.uid === 0 || found.uid === process.getuid?.()) && (found.mode & OTHERS_MAY_WRITE) === 0;
};
