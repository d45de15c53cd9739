import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { cacheFolder } from './cache.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** What `npm run helm:build` builds, and what the tests have run. */
export const HELM_VERSION = 'v3.19.5';

/** Where `npm run helm:build` puts it. */
export const builtHelm = (env: Environment): string => join(cacheFolder(env), 'helm', HELM_VERSION, 'helm');

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** The helm of this machine: HELM_PROGRAM, else the one that was built here, else the one on the PATH; undefined: there is none. */
export const findHelm = (env: Environment): string | undefined => {
  const onPath = (env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const candidates = [env['HELM_PROGRAM'] ?? '', builtHelm(env), ...onPath.map((folder) => join(folder, 'helm'))];
  return candidates.filter((file) => file !== '').find(isExecutable);
};
