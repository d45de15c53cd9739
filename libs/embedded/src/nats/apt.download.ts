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
import { codeOf } from '../faults.js';
import { lastWordsOf, runCommand } from '../process/command.js';
import { aptConfig, aptSourceLine } from './apt.config.js';
import { debianMirrors, type DebianMirror } from './apt.sources.js';

/** Testing first: it becomes the next stable release and keeps such a version; unstable moves on. */
const SUITES = ['forky', 'sid'] as const;
/** For all mirrors and suites together. */
const TIMEOUT_MS = 120_000;
const STEP_TIMEOUT_MS = 60_000;
const UNPACK_TIMEOUT_MS = 20_000;
const MIRRORS_MAX = 3;

export interface DownloadedBinary {
  readonly path: string;
  readonly source: string;
}

/**
 * Fetches Debian's nats-server with apt, which verifies the archive's signature and the package's checksum, and unpacks it without
 * installing it. `use` gets the binary while it exists.
 */
export const withAptDownload = async (
  use: (binary: DownloadedBinary) => Promise<string | undefined>,
): Promise<readonly string[]> => {
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/usr/bin/dpkg-deb')) return ['this machine has no apt'];
  const mirrors = debianMirrors(readAptSources()).slice(0, MIRRORS_MAX);
  if (mirrors.length === 0) return ["apt's sources name no Debian archive with the distribution's keyring"];
  const reasons: string[] = [];
  const deadlineMs = performance.now() + TIMEOUT_MS;
  for (const origin of mirrors.flatMap((mirror) => SUITES.map((suite) => ({ mirror, suite })))) {
    const reason = await fetchFrom(origin, deadlineMs, use);
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
  deadlineMs: number,
  use: (binary: DownloadedBinary) => Promise<string | undefined>,
): Promise<string | undefined> => {
  const workDir = makeWorkDir();
  try {
    writeFileSync(join(workDir, 'apt.conf'), aptConfig(workDir));
    writeFileSync(join(workDir, 'sources.list'), aptSourceLine(mirror, suite));
    const steps = [
      ['update', '--error-on=any'],
      ['download', 'nats-server'],
    ];
    for (const step of steps) {
      const timeoutMs = Math.min(STEP_TIMEOUT_MS, deadlineMs - performance.now());
      if (timeoutMs <= 0) return `there was no time left of ${TIMEOUT_MS / 1_000} s`;
      const options = { timeoutMs, cwd: join(workDir, 'download'), env: aptEnvironment() };
      const result = await runCommand('apt-get', ['-c', join(workDir, 'apt.conf'), '-q', ...step], options);
      if (result.code !== 0) return lastWordsOf(result);
    }
    const unpacked = await unpack(workDir);
    return unpacked.reason ?? (await use({ path: unpacked.path, source: `${mirror.uri} ${suite}` }));
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
};

const unpack = async (workDir: string): Promise<{ path: string; reason?: string }> => {
  const path = join(workDir, 'unpacked', 'usr', 'sbin', 'nats-server');
  const packages = readdirSync(join(workDir, 'download')).filter((file) => file.endsWith('.deb'));
  const [file] = packages;
  if (file === undefined) return { path, reason: 'apt downloaded no package' };
  const args = ['-x', join(workDir, 'download', file), join(workDir, 'unpacked')];
  const result = await runCommand('dpkg-deb', args, { timeoutMs: UNPACK_TIMEOUT_MS });
  if (result.code !== 0) return { path, reason: lastWordsOf(result) };
  return existsSync(path) ? { path } : { path, reason: 'the package holds no /usr/sbin/nats-server' };
};

/**
 * As root, apt drops to the user _apt, who must get into the folder: never one under a home folder. The umask of a careful root would
 * close it too, hence the modes are set.
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

/** apt's own lists of archives, as they are on this machine. */
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
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
};
