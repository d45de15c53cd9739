import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { WorldFailure } from '@fairlead/contracts';
import { makeFolder } from '@fairlead/embedded/process';

/** Where a set of hosts lives on this machine. */
export interface Places {
  /** Everything about the hosts: what they are, and their disks. Outlives every process; needs a file system that overlays can stand on. */
  readonly stateDir: string;
  /** What is large and can be made again: root file systems. Outside of every checkout. */
  readonly cacheDir: string;
}

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
  makeFolder(stateDir, PRIVATE);
  makeFolder(cacheDir);
  return { stateDir: realpathSync(stateDir), cacheDir: realpathSync(cacheDir) };
};
