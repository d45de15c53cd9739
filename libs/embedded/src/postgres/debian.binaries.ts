import { errorCodeOf } from '@fairlead/contracts';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withDebianPackages, type AptGet } from '../apt/apt.download.js';
import { makeFolder } from '../folder/files.js';
import { isTrusted } from '../folder/reach.js';
import { lastWordsOf, runCommand } from '../process/command.js';

const COPY_TIMEOUT_MS = 60_000;
const CACHED = /^postgresql-(\d+)\.\d+$/;
const INSTALLED = '/var/lib/dpkg/status';
/**
 * The server, and libraries that this machine lacks; those of its just-in-time compiler and of its tools are not
 * needed.
 */
const SERVER = /^postgresql-\d+$/;
const LIBRARY = /^lib(?!llvm|z3|edit|bsd|readline|c-l10n)[a-z0-9.+-]+(?<!-perl)$/;
/** `'<address>' <file> <bytes> <digest>`, the output of `apt-get --print-uris`. */
const LISTED = /^'[^']+' ([a-z0-9.+-]+)_\S+\.deb \d+ /gm;

/** Folders of an unpacked server. */
export interface DebianPostgres {
  readonly binDir: string;
  readonly libDir: string;
  readonly major: number;
}

interface FetchOptions {
  /** Folder of the programs; readable for the user that runs the server. */
  readonly cacheDir: string;
  /** The required major version; undefined: that of the distribution. */
  readonly major: number | undefined;
  /** dpkg's list of installed packages. */
  readonly installed: string | undefined;
  readonly log: (sentence: string) => void;
  /** The version of the server there, such as `15.18`, or why it does not run. */
  readonly versionOf: (server: Omit<DebianPostgres, 'major'>) => Promise<{ version: string } | { reason: string }>;
}

/** Cached servers, newest first. */
export const cachedDebianPostgres = (cacheDir: string): readonly DebianPostgres[] => {
  if (!existsSync(cacheDir)) return [];
  return readdirSync(cacheDir)
    .filter((name) => CACHED.test(name) && isTrusted(join(cacheDir, name)))
    .sort((one, other) => other.localeCompare(one, 'en', { numeric: true }))
    .map((name) => ({ ...foldersIn(join(cacheDir, name)), major: Number(CACHED.exec(name)?.[1]) }));
};

/**
 * Downloads the PostgreSQL of the machine's own Debian release into the cache, with missing libraries. Nothing is
 * installed. Resolves to the reasons of a failure; to none if it is now in the cache.
 */
export const fetchDebianPostgres = async (options: FetchOptions): Promise<readonly string[]> => {
  const suite = /^VERSION_CODENAME=(\w+)$/m.exec(readOsRelease())?.[1];
  if (suite === undefined) return ['/etc/os-release names no release of Debian'];
  const wanted = options.major === undefined ? 'postgresql' : `postgresql-${options.major}`;
  options.log("no PostgreSQL 15 or newer on this machine; fetching the distribution's");
  const select = (apt: AptGet) => missingPackages(apt, wanted);
  return withDebianPackages(
    { suites: [suite], select, installed: options.installed ?? INSTALLED },
    async ({ root, source }) => {
      const found = await options.versionOf(foldersIn(root));
      if ('reason' in found) return found.reason;
      await intoCache(root, join(options.cacheDir, `postgresql-${found.version}`));
      options.log(`fetched PostgreSQL ${found.version} from ${source}`);
      return undefined;
    },
  );
};

const missingPackages = async (
  apt: AptGet,
  wanted: string,
): Promise<readonly string[] | { readonly reason: string }> => {
  const listed = await apt('--print-uris', '--yes', 'install', wanted);
  if ('reason' in listed) return listed;
  const names = [...listed.output.matchAll(LISTED)].flatMap(([, name = '']) => name);
  const needed = names.filter((name) => SERVER.test(name) || LIBRARY.test(name));
  return needed.some((name) => SERVER.test(name)) ? needed : { reason: `${wanted} depends on no server to download` };
};

const foldersIn = (root: string): Omit<DebianPostgres, 'major'> => {
  const lib = join(root, 'usr', 'lib');
  const servers = join(lib, 'postgresql');
  const [server = 'none'] = existsSync(servers) ? readdirSync(servers) : [];
  const [machine = 'none'] = existsSync(lib) ? readdirSync(lib).filter((name) => name.includes('-linux-')) : [];
  return { binDir: join(servers, server, 'bin'), libDir: join(lib, machine) };
};

/** The folder is created atomically; of several concurrent downloads one wins. */
const intoCache = async (root: string, folder: string): Promise<void> => {
  const temporary = `${folder}.${randomUUID()}`;
  makeFolder(join(folder, '..'));
  try {
    for (const [command, args] of [
      ['cp', ['-R', root, temporary]],
      ['chmod', ['-R', 'u+rwX,go+rX,go-w', temporary]],
    ] as const) {
      const result = await runCommand(command, args, { timeoutMs: COPY_TIMEOUT_MS });
      if (result.code !== 0) throw new Error(lastWordsOf(result));
    }
    renameSync(temporary, folder);
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOTEMPTY' && errorCodeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
};

const readOsRelease = (): string => (existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '');
