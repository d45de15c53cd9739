import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { ExternalFailure } from '@fairlead/contracts';
import { makeFolder } from '@fairlead/embedded/process';

/** The folders of a set of hosts on this machine. */
export interface Places {
  /**
   * Everything about the hosts: their properties and disks. Outlives every process; requires a file system that
   * supports overlays.
   */
  readonly stateDir: string;
  /** Large files that can be recreated: root file systems. Outside of every checkout. */
  readonly cacheDir: string;
}

/** Two sets of hosts never share the name of a device, a namespace or a group: these derive from the state folder. */
export const tagOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, TAG_LENGTH);

const TAG_LENGTH = 8;
/** overlayfs takes its folders as one option string, in which these characters end a folder. */
const UNUSABLE = /[:,\\\s"]/;
const PRIVATE = 0o700;

/** The same folders by their real paths. Throws if they are unsuitable for hosts. */
export const realPlaces = ({ stateDir, cacheDir }: Places): Places => {
  for (const folder of [stateDir, cacheDir]) {
    if (UNUSABLE.test(folder)) {
      throw new ExternalFailure({
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
