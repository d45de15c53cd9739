import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { cacheFolder } from './cache.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The version built by `npm run helm:build`, used by the tests. */
export const HELM_VERSION = 'v3.19.5';

/** Output of `npm run helm:build`. */
export const builtHelm = (env: Environment): string => join(cacheFolder(env), 'helm', HELM_VERSION, 'helm');

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** The helm of this machine: HELM_PROGRAM, else the one built here, else the one on the PATH; undefined: none. */
export const findHelm = (env: Environment): string | undefined => {
  const onPath = (env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const candidates = [env['HELM_PROGRAM'] ?? '', builtHelm(env), ...onPath.map((folder) => join(folder, 'helm'))];
  return candidates.filter((file) => file !== '').find(isExecutable);
};
