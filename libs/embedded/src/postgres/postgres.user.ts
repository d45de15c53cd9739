import { chmodSync, chownSync, closeSync, mkdirSync, openSync } from 'node:fs';

/** PostgreSQL refuses to run as root, so root runs it as `nobody`, which owns nothing else. */
const NOBODY = { uid: 65534, gid: 65534 } as const;
const FIRST_EXTRA_DESCRIPTOR = 3;

/** How PostgreSQL's programs are run, and the path of their folder as they see it. */
export interface PostgresUser {
  readonly identity?: { readonly uid: number; readonly gid: number };
  readonly folderHandle?: number;
  readonly folder: string;
  release(): void;
}

/**
 * As root, the folder is given to `nobody` and passed on as an open descriptor, and the programs access it as
 * `/proc/self/fd/3`: its path is inaccessible to them if the checkout is below a closed home folder (such as root's).
 * The programs inherit the descriptor from each other. An ordinary user runs PostgreSQL as itself, by the path.
 */
export const postgresUser = (folder: string): PostgresUser => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  if (process.getuid?.() !== 0) return { folder, release: () => undefined };
  chownSync(folder, NOBODY.uid, NOBODY.gid);
  const folderHandle = openSync(folder, 'r');
  return {
    identity: NOBODY,
    folderHandle,
    folder: `/proc/self/fd/${FIRST_EXTRA_DESCRIPTOR}`,
    release: () => closeSync(folderHandle),
  };
};

/** Gives a file in the folder to the user that runs PostgreSQL. */
export const giveTo = ({ identity }: PostgresUser, file: string): void => {
  if (identity !== undefined) chownSync(file, identity.uid, identity.gid);
};
