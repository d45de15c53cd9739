import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

const given = (value: string | undefined): string | undefined =>
  value === undefined || value === '' ? undefined : value;

/** Fairlead's cache for large files that can be recreated, outside of every checkout. */
export const cacheFolder = (env: Environment): string => {
  const own = given(env['FAIRLEAD_CACHE']);
  if (own !== undefined) return resolve(own);
  return join(given(env['XDG_CACHE_HOME']) ?? join(homedir(), '.cache'), 'fairlead');
};

/** The mirror created by `npm run kubernetes:build`, unless another folder is configured. */
export const localMirror = (env: Environment): string => join(cacheFolder(env), 'kubernetes');

/** The key with which this machine signs the mirrors that it builds. */
export const mirrorKeyFile = (env: Environment): string => join(cacheFolder(env), 'keys', 'mirror.pem');
