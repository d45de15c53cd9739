import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './files.js';

/**
 * Cache for downloaded programs: `$FAIRLEAD_CACHE`, else `$XDG_CACHE_HOME/fairlead`, else `~/.cache/fairlead`, or the
 * data folder if there is no writable home.
 */
export const cacheFolder = (env: NodeJS.ProcessEnv, dataDir: string): string => {
  const own = env['FAIRLEAD_CACHE'];
  if (own !== undefined && own !== '') return own;
  // A home that does not exist (Debian's users without one have /nonexistent) is not created.
  const home = env['HOME'] && existsSync(env['HOME']) ? join(env['HOME'], '.cache') : undefined;
  const candidates = [env['XDG_CACHE_HOME'], home].flatMap((parent) => (parent ? [join(parent, 'fairlead')] : []));
  return candidates.find(isWritable) ?? join(dataDir, 'cache');
};

const isWritable = (folder: string): boolean => {
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false; // The home does not exist or belongs to another user: try the next place.
  }
};
