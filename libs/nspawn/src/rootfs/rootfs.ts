import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExternalFailure } from '@fairlead/contracts';
import { debianMirrors, readAptSources } from '@fairlead/embedded/apt';
import { run } from '../machine/commands.js';
import {
  customizeScript,
  DEFAULT_SYSTEM,
  HOST_SYSTEMS,
  mmdebstrapArguments,
  recipeText,
  type HostSystem,
} from './recipe.rules.js';

/** The read-only file systems shared by all hosts; a host's own is mounted over them. The first is the uppermost. */
export interface RootLayers {
  readonly base: string;
  /** Contains /opt/fairlead/node: the Node runtime of this process. */
  readonly node: string;
  readonly nodeSha256: string;
}

export type Progress = (line: string) => void;

const BUILD_TIMEOUT_MS = 15 * 60_000;
const DIGEST_LENGTH = 16;
const LAST_LINES = 5;
const EXECUTABLE = 0o755;

const digest = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

const baseFolder = (cacheDir: string, system: HostSystem): string =>
  join(cacheDir, 'hosts', `${HOST_SYSTEMS[system].suite}-${digest(recipeText(system)).slice(0, DIGEST_LENGTH)}`);

/** Whether hosts can be created without building a root file system. */
export const hasRootfs = (cacheDir: string, system = DEFAULT_SYSTEM): boolean =>
  existsSync(baseFolder(cacheDir, system));

/** The layers below every host: missing ones are built (about a minute and a half), atomically. */
export const ensureRootfs = async (
  cacheDir: string,
  progress: Progress = () => undefined,
  system = DEFAULT_SYSTEM,
): Promise<RootLayers> => {
  const base = baseFolder(cacheDir, system);
  if (!existsSync(base)) await buildBase(system, base, progress);
  return { base, ...(await ensureNodeLayer(cacheDir, base)) };
};

/**
 * Of several concurrent builds, one runs and the others wait: flock(1) holds the lock while the build is running. The
 * build checks again once it has the lock.
 */
const buildBase = async (system: HostSystem, base: string, progress: Progress): Promise<void> => {
  const scratch = mkdtempSync(join(tmpdir(), 'fairlead-rootfs-'));
  try {
    mkdirSync(join(base, '..'), { recursive: true });
    const customizeFile = join(scratch, 'customize.sh');
    writeFileSync(customizeFile, customizeScript());
    chmodSync(customizeFile, EXECUTABLE);
    const mirrors = debianMirrors(readAptSources()).map(({ uri }) => uri);
    if (mirrors.length === 0) {
      throw failure(base, "apt's sources of this machine name no Debian archive to build from", false);
    }
    const partial = `${base}.partial`;
    const build = [
      `[ -d "$BASE" ] && exit 0`,
      `rm -rf "$PARTIAL" && mmdebstrap "$@" && chmod 755 "$PARTIAL" && mv -T "$PARTIAL" "$BASE"`,
    ].join('\n');
    await follow(
      [
        'flock',
        `${base}.lock`,
        'sh',
        '-c',
        build,
        'sh',
        ...mmdebstrapArguments(system, partial, customizeFile, mirrors.slice(0, 1)),
      ],
      { BASE: base, PARTIAL: partial },
      progress,
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
};

const failure = (target: string, message: string, retryable = true): ExternalFailure =>
  new ExternalFailure({ operation: 'build the root file system of local hosts', target, message, retryable });

/** Runs a long command and passes on each line of its output. */
const follow = (
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  progress: Progress,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env, LC_ALL: 'C' },
      timeout: BUILD_TIMEOUT_MS,
    });
    const last: string[] = [];
    const hear = (text: string): void => {
      for (const line of text.split(/[\r\n]+/).filter((each) => each.trim() !== '')) {
        last.push(line);
        if (last.length > LAST_LINES) last.shift();
        progress(line);
      }
    };
    child.stdout.setEncoding('utf8').on('data', hear);
    child.stderr.setEncoding('utf8').on('data', hear);
    child.on('error', (error) => reject(failure(command, error.message)));
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(failure('mmdebstrap', `it ended with ${code ?? signal ?? 'nothing'}: ${last.join(' | ')}`));
    });
  });

/**
 * A layer with the Node runtime of this process, so that agents need no upload of one. Another Node is another layer.
 */
const ensureNodeLayer = async (cacheDir: string, base: string): Promise<Pick<RootLayers, 'node' | 'nodeSha256'>> => {
  const nodeSha256 = digest(readFileSync(process.execPath));
  const layer = join(cacheDir, 'hosts', `node-${process.version}-${nodeSha256.slice(0, DIGEST_LENGTH)}`);
  if (!existsSync(layer)) {
    const partial = mkdtempSync(`${layer}.`);
    const at = join(partial, 'opt', 'fairlead');
    mkdirSync(at, { recursive: true });
    cpSync(process.execPath, join(at, 'node'), { dereference: true });
    for (const folder of [partial, join(partial, 'opt'), at, join(at, 'node')]) chmodSync(folder, EXECUTABLE);
    writeFileSync(join(at, 'node.sha256'), `${nodeSha256}  node\n`);
    await provesItself(partial, base);
    publish(partial, layer);
  }
  return { node: layer, nodeSha256 };
};

/** Two processes may create the same layer concurrently; either is fine. */
const publish = (partial: string, layer: string): void => {
  try {
    renameSync(partial, layer);
  } catch (error) {
    if (!existsSync(layer)) throw error;
    rmSync(partial, { recursive: true, force: true });
  }
};

/**
 * A Node linked against libraries that hosts lack does not work there: this is reported here, not by a failing agent.
 */
const provesItself = async (layer: string, base: string): Promise<void> => {
  const target = process.execPath;
  const mount = 'mount -t overlay overlay -o "lowerdir=$1:$2" "$3" && exec chroot "$3" /opt/fairlead/node --version';
  const at = mkdtempSync(join(tmpdir(), 'fairlead-node-'));
  try {
    await run({ operation: 'run this Node.js on a local host', target }, 'unshare', [
      ...['--mount', '--propagation', 'private', 'sh', '-c', mount, 'sh'],
      ...[layer, base, at],
    ]);
  } catch (error) {
    rmSync(layer, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(at, { recursive: true, force: true });
  }
};
