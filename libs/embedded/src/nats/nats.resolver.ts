import { randomUUID } from 'node:crypto';
import { accessSync, chmodSync, constants, copyFileSync, existsSync, readdirSync, renameSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { EnvironmentFault } from '../faults.js';
import { makeFolder } from '../folder/files.js';
import { isTrusted } from '../folder/reach.js';
import { lastWordsOf, runCommand } from '../process/command.js';
import { withDebianDownload, type DownloadedBinary } from './debian.download.js';
import { byVersionDescending, isNewEnough, NATS_VERSION_MIN, parseNatsVersion } from './nats.version.js';
import { withReleaseDownload } from './release.download.js';

const VERSION_TIMEOUT_MS = 10_000;
/** Debian installs the server outside an ordinary user's PATH. */
const MORE_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin'];
const CACHED = /^nats-server-(\d+\.\d+\.\d.*)$/;

export interface NatsServerBinary {
  readonly path: string;
  readonly version: string;
  /** Where it was found, for people: `NATS_SERVER_BIN`, `PATH`, `cache`, or the download URL. */
  readonly source: string;
}

export interface ResolveNatsServerOptions {
  readonly cacheDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: (sentence: string) => void;
}

type Verdict =
  { readonly status: 'fit'; readonly version: string } | { readonly status: 'unfit'; readonly reason: string };

/**
 * Finds a sufficiently new nats-server: `NATS_SERVER_BIN`, else the one on PATH, else the newest in the cache, else a
 * verified download into the cache. (The caller handles `NATS_URL`, a running server.) Throws an `EnvironmentFault`
 * that names everything tried.
 */
export const resolveNatsServer = async ({
  cacheDir,
  env,
  log,
}: ResolveNatsServerOptions): Promise<NatsServerBinary> => {
  const chosen = env['NATS_SERVER_BIN'];
  if (chosen !== undefined && chosen !== '') return resolveChosen(chosen);

  const reasons: string[] = [];
  for (const path of [...onPath(env['PATH']), ...inCache(cacheDir)]) {
    const verdict = await judge(path);
    if (verdict.status === 'fit')
      return { path, version: verdict.version, source: path.startsWith(cacheDir) ? 'cache' : 'PATH' };
    reasons.push(verdict.reason);
  }
  log(`no nats-server ${NATS_VERSION_MIN} or newer on this machine; fetching one`);
  return download(cacheDir, reasons, log);
};

const resolveChosen = async (path: string): Promise<NatsServerBinary> => {
  const verdict = await judge(path);
  if (verdict.status === 'fit') return { path, version: verdict.version, source: 'NATS_SERVER_BIN' };
  throw new EnvironmentFault('nats-missing', {
    operation: 'find nats-server',
    target: path,
    message: `NATS_SERVER_BIN cannot be used: ${verdict.reason}. Set it to a nats-server ${NATS_VERSION_MIN} or newer, or unset it.`,
  });
};

const download = async (
  cacheDir: string,
  reasons: string[],
  log: (sentence: string) => void,
): Promise<NatsServerBinary> => {
  let found: NatsServerBinary | undefined;
  const keep = async (binary: DownloadedBinary): Promise<string | undefined> => {
    const verdict = await judge(binary.path);
    if (verdict.status === 'unfit') return verdict.reason;
    found = {
      path: intoCache(cacheDir, binary.path, verdict.version),
      version: verdict.version,
      source: binary.source,
    };
    return undefined;
  };
  reasons.push(...(await withDebianDownload(keep)));
  if (found === undefined) reasons.push(...(await withReleaseDownload(keep)));
  if (found === undefined) throw nothingFound(reasons);
  log(`fetched nats-server ${found.version} from ${found.source}`);
  return found;
};

const nothingFound = (reasons: readonly string[]): EnvironmentFault =>
  new EnvironmentFault('nats-missing', {
    operation: 'find nats-server',
    target: 'this machine',
    message:
      `There is no nats-server ${NATS_VERSION_MIN} or newer, and none could be fetched. Install one and set NATS_SERVER_BIN to it, ` +
      `or set NATS_URL to a running one. Tried: ${reasons.join('; ')}.`,
  });

const judge = async (path: string): Promise<Verdict> => {
  const result = await runCommand(path, ['--version'], { timeoutMs: VERSION_TIMEOUT_MS });
  if (result.code !== 0) return { status: 'unfit', reason: `${path} does not run (${lastWordsOf(result)})` };
  const version = parseNatsVersion(result.stdout + result.stderr);
  if (version === undefined) return { status: 'unfit', reason: `${path} does not say its version` };
  if (!isNewEnough(version)) return { status: 'unfit', reason: `${path} is ${version}` };
  return { status: 'fit', version };
};

const onPath = (path: string | undefined): readonly string[] => {
  const folders = [...(path ?? '').split(delimiter), ...MORE_FOLDERS].filter((folder) => folder !== '');
  return [...new Set(folders)].map((folder) => join(folder, 'nats-server')).filter(isExecutable);
};

const inCache = (cacheDir: string): readonly string[] => {
  if (!existsSync(cacheDir)) return [];
  const versions = readdirSync(cacheDir).flatMap((name) => CACHED.exec(name)?.[1] ?? []);
  return versions
    .sort(byVersionDescending)
    .map((version) => join(cacheDir, `nats-server-${version}`))
    .filter((folder) => isTrusted(folder) && isTrusted(join(folder, 'nats-server')))
    .map((folder) => join(folder, 'nats-server'));
};

/** The file is created atomically, so that concurrent downloads do not interfere. */
const intoCache = (cacheDir: string, binary: string, version: string): string => {
  const folder = join(cacheDir, `nats-server-${version}`);
  const temporary = join(folder, `.${randomUUID()}`);
  makeFolder(folder);
  chmodSync(folder, 0o755); // Regardless of the umask: a folder that others can write is not used again.
  copyFileSync(binary, temporary);
  chmodSync(temporary, 0o755);
  renameSync(temporary, join(folder, 'nats-server'));
  return join(folder, 'nats-server');
};

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // Missing or not accessible: try the next folder.
  }
};
