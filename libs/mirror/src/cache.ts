import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

const given = (value: string | undefined): string | undefined =>
  value === undefined || value === '' ? undefined : value;

/** Where Fairlead keeps what is large and can be made again, outside of every checkout. */
export const cacheFolder = (env: Environment): string => {
  const own = given(env['FAIRLEAD_CACHE']);
  if (own !== undefined) return resolve(own);
  return join(given(env['XDG_CACHE_HOME']) ?? join(homedir(), '.cache'), 'fairlead');
};

/** The mirror that `npm run kubernetes:build` creates, unless another folder is configured. */
export const localMirror = (env: Environment): string => join(cacheFolder(env), 'kubernetes');

/** The key with which this machine signs the mirrors that it builds. */
export const mirrorKeyFile = (env: Environment): string => join(cacheFolder(env), 'keys', 'mirror.pem');
