import { createHash } from 'node:crypto';
import { mkdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { WorldFailure } from '@fairlead/contracts';

/** Where a set of hosts lives on this machine. */
export interface Places {
  /** Everything about the hosts: what they are, and their disks. Outlives every process; needs a file system that overlays can stand on. */
  readonly stateDir: string;
  /** What is large and can be made again: root file systems. Outside of every checkout. */
  readonly cacheDir: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

/** `$FAIRLEAD_CACHE_DIR`, else `$XDG_CACHE_HOME/fairlead`, else `~/.cache/fairlead`. */
export const hostsCache = (env: Environment): string => {
  const own = given(env['FAIRLEAD_CACHE_DIR']);
  if (own !== undefined) return resolve(own);
  return join(given(env['XDG_CACHE_HOME']) ?? join(homedir(), '.cache'), 'fairlead');
};

/** The mirror of Kubernetes' own files that `npm run kubernetes:build` makes, unless it is told another place. */
export const defaultMirror = (env: Environment): string => join(hostsCache(env), 'kubernetes');

/** Two sets of hosts never share a name of a device, a namespace or a group: these follow from the state folder. */
export const tagOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, TAG_LENGTH);

const TAG_LENGTH = 8;
/** overlayfs takes its folders as one option string; these characters end a folder in it. */
const UNUSABLE = /[:,\\\s"]/;
const PRIVATE = 0o700;

/** The same places by their true paths. Throws when hosts cannot stand there. */
export const realPlaces = ({ stateDir, cacheDir }: Places): Places => {
  for (const folder of [stateDir, cacheDir]) {
    if (UNUSABLE.test(folder)) {
      throw new WorldFailure({
        operation: 'open the folder of local hosts',
        target: folder,
        message: `overlay file systems cannot stand on a path with a colon, a comma, a quote, a backslash or a blank: ${folder}`,
        retryable: false,
      });
    }
  }
  mkdirSync(stateDir, { recursive: true, mode: PRIVATE });
  mkdirSync(cacheDir, { recursive: true });
  return { stateDir: realpathSync(stateDir), cacheDir: realpathSync(cacheDir) };
};
