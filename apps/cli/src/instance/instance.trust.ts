import { errorCodeOf } from '@fairlead/contracts';
import { statSync, type Stats } from 'node:fs';
import { CliFailure } from '../failures.js';

export const UNTRUSTED = 'cli.instance-untrusted';
const WRITABLE_BY_OTHERS = 0o022;

/** The relevant properties of a file or folder, and the current user. */
export interface Ownership {
  readonly path: string;
  readonly owner: number;
  readonly mode: number;
  /** The user ID of this process; undefined if the system has no users. */
  readonly self: number | undefined;
}

/**
 * The reason for distrust; undefined if the path is trusted. A user who can write to an instance folder decides where
 * commands and tokens are sent and what the responses are, kubeconfigs included. This also applies to root, who would
 * act for the folder's owner with more permissions than the owner has.
 */
export const distrustOf = (
  { path, owner, mode, self }: Ownership,
  what = 'The instance folder',
): CliFailure | undefined => {
  if (self === undefined) return undefined;
  if (owner !== self)
    return untrusted(
      what,
      `${path} belongs to user ${owner}, and this is user ${self}`,
      `Run the command as its owner (sudo -u '#${owner}' fairlead ...), choose your own folder with --data, or name the server with --server and its token with --token-file.`,
    );
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    return untrusted(
      what,
      `${path} can be written by other users`,
      `Look whether its content is yours, then take that right away: chmod go-w ${path}`,
    );
  return undefined;
};

const untrusted = (what: string, reason: string, help: string): CliFailure =>
  new CliFailure('unauthorised', {
    code: UNTRUSTED,
    message: `${what} is not trusted: ${reason}`,
    help,
  });

/** undefined if the file does not exist for this user; the reader reports the reason. */
const statsOf = (path: string): Stats | undefined => {
  try {
    return statSync(path);
  } catch (error) {
    if (errorCodeOf(error) === undefined) throw error;
    return undefined;
  }
};

/** Throws if another user may have written to one of the paths. Missing files are trusted. */
export const refuseUntrusted = (paths: readonly string[], what?: string): void => {
  for (const path of paths) {
    const stats = statsOf(path);
    if (stats === undefined) continue;
    const failure = distrustOf({ path, owner: stats.uid, mode: stats.mode, self: process.getuid?.() }, what);
    if (failure !== undefined) throw failure;
  }
};
