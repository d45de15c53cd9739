import { errorCodeOf } from '@fairlead/contracts';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isOpenToOthers } from '../folder/reach.js';
import { lastWordsOf, runCommand } from '../process/command.js';
import { aptConfig, aptSourceLine } from './apt.config.js';
import { debianMirrors, type DebianMirror } from './apt.sources.js';

/** For all mirrors and suites together. */
const TIMEOUT_MS = 180_000;
const STEP_TIMEOUT_MS = 90_000;
const UNPACK_TIMEOUT_MS = 60_000;
const MIRRORS_MAX = 3;
const PACKAGE_NAME = /^[a-z0-9][a-z0-9.+-]+$/;

/** Runs the private apt-get and resolves to its output, or to the reason of its failure. */
export type AptGet = (...args: readonly string[]) => Promise<{ readonly output: string } | { readonly reason: string }>;

export interface PackageRequest {
  /** Suites of Debian's archive, the preferred one first. */
  readonly suites: readonly string[];
  /** The packages to fetch from a suite, or why there are none. */
  readonly select: (apt: AptGet) => Promise<readonly string[] | { readonly reason: string }>;
  /** dpkg's list of installed packages, for a `select` that queries apt for missing ones. */
  readonly installed?: string;
}

export interface UnpackedPackages {
  /** The root to which the packages were unpacked. It exists until `use` resolves. */
  readonly root: string;
  /** Their source, for people. */
  readonly source: string;
}

/** Resolves to a reason why the packages are unsuitable; to none if it accepted them. */
export type UsePackages = (unpacked: UnpackedPackages) => Promise<string | undefined>;

/**
 * Fetches Debian's packages with apt, which verifies the archive's signature and each package's checksum, and unpacks
 * them without installing them. Resolves to the reasons why no suite was suitable; to none if `use` accepted one.
 */
export const withDebianPackages = async (request: PackageRequest, use: UsePackages): Promise<readonly string[]> => {
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/usr/bin/dpkg-deb')) return ['this machine has no apt'];
  const mirrors = debianMirrors(readAptSources()).slice(0, MIRRORS_MAX);
  if (mirrors.length === 0) return ["apt's sources name no Debian archive with the distribution's keyring"];
  const reasons: string[] = [];
  const deadlineMs = performance.now() + TIMEOUT_MS;
  for (const origin of mirrors.flatMap((mirror) => request.suites.map((suite) => ({ mirror, suite })))) {
    const reason = await fetchFrom(origin, request, deadlineMs, use);
    if (reason === undefined) return [];
    reasons.push(`${origin.mirror.uri} ${origin.suite}: ${reason}`);
  }
  return reasons;
};

interface Origin {
  readonly mirror: DebianMirror;
  readonly suite: string;
}

const fetchFrom = async (
  { mirror, suite }: Origin,
  { select, installed }: PackageRequest,
  deadlineMs: number,
  use: UsePackages,
): Promise<string | undefined> => {
  const workDir = makeWorkDir();
  try {
    writeFileSync(join(workDir, 'apt.conf'), aptConfig(workDir, installed));
    writeFileSync(join(workDir, 'sources.list'), aptSourceLine(mirror, suite));
    const apt = aptGetIn(workDir, deadlineMs);
    const updated = await apt('update', '--error-on=any');
    if ('reason' in updated) return updated.reason;
    const names = await select(apt);
    if ('reason' in names) return names.reason;
    const downloaded = await apt('download', ...names.filter((name) => PACKAGE_NAME.test(name)));
    if ('reason' in downloaded) return downloaded.reason;
    const root = join(workDir, 'unpacked');
    return (
      (await unpackAll(join(workDir, 'download'), root)) ?? (await use({ root, source: `${mirror.uri} ${suite}` }))
    );
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
};

const aptGetIn =
  (workDir: string, deadlineMs: number): AptGet =>
  async (...args) => {
    const timeoutMs = Math.min(STEP_TIMEOUT_MS, deadlineMs - performance.now());
    if (timeoutMs <= 0) return { reason: `there was no time left of ${TIMEOUT_MS / 1_000} s` };
    const options = { timeoutMs, cwd: join(workDir, 'download'), env: aptEnvironment() };
    const result = await runCommand('apt-get', ['-c', join(workDir, 'apt.conf'), '-q', ...args], options);
    return result.code === 0 ? { output: result.stdout } : { reason: lastWordsOf(result) };
  };

/** Resolves to the reason why a package could not be unpacked. */
const unpackAll = async (folder: string, root: string): Promise<string | undefined> => {
  const packages = readdirSync(folder).filter((file) => file.endsWith('.deb'));
  if (packages.length === 0) return 'apt downloaded no package';
  for (const file of packages) {
    const result = await runCommand('dpkg-deb', ['-x', join(folder, file), root], { timeoutMs: UNPACK_TIMEOUT_MS });
    if (result.code !== 0) return lastWordsOf(result);
  }
  return mergeUsr(root);
};

/** Some packages still have their libraries in /lib, which is /usr/lib on an installed machine. */
const mergeUsr = async (root: string): Promise<string | undefined> => {
  const lib = join(root, 'lib');
  if (!existsSync(lib)) return undefined;
  const target = join(root, 'usr', 'lib');
  mkdirSync(target, { recursive: true });
  const result = await runCommand('cp', ['-R', `${lib}/.`, target], { timeoutMs: UNPACK_TIMEOUT_MS });
  return result.code === 0 ? undefined : lastWordsOf(result);
};

/**
 * As root, apt drops to the user _apt, which must be able to enter the folder: never one below a home folder. A strict
 * umask would close it too, so the modes are set explicitly.
 */
const makeWorkDir = (): string => {
  const parent =
    [tmpdir(), '/tmp', '/var/tmp'].find((folder) => existsSync(folder) && isOpenToOthers(folder)) ?? tmpdir();
  const workDir = mkdtempSync(join(parent, 'fairlead-apt-'));
  chmodSync(workDir, 0o755);
  for (const folder of [
    'state',
    'state/lists',
    'state/lists/partial',
    'cache',
    'cache/archives',
    'cache/archives/partial',
    'download',
  ]) {
    mkdirSync(join(workDir, folder));
    chmodSync(join(workDir, folder), 0o755);
  }
  writeFileSync(join(workDir, 'state', 'status'), '');
  const downloader = process.getuid?.() === 0 ? uidOf('_apt') : undefined;
  if (downloader !== undefined) chownSync(join(workDir, 'download'), downloader, 0);
  return workDir;
};

const uidOf = (user: string): number | undefined => {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${user}:`));
  const uid = Number(line?.split(':')[2]);
  return Number.isInteger(uid) ? uid : undefined;
};

const aptEnvironment = (): NodeJS.ProcessEnv => {
  const { APT_CONFIG: _ours, ...inherited } = process.env;
  return { ...inherited, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
};

/** apt's own lists of archives on this machine. */
export const readAptSources = (): readonly { name: string; text: string }[] => {
  const parts = '/etc/apt/sources.list.d';
  const files = ['/etc/apt/sources.list', ...namesIn(parts).map((name) => join(parts, name))];
  return files
    .filter((name) => (name.endsWith('.list') || name.endsWith('.sources')) && existsSync(name))
    .map((name) => ({ name, text: readFileSync(name, 'utf8') }));
};

const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw error;
  }
};
