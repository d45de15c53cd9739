import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder } from '@fairlead/embedded';
import { debianMirrors, readAptSources } from '@fairlead/embedded/apt';
import type { MinimalMachine } from './newcomer.js';

/** Besides Debian's required packages: without CA certificates, npm reaches no registry. */
const PACKAGES = ['ca-certificates'];
const BUILD_TIMEOUT_MS = 600_000;
const PROGRAMS = ['mmdebstrap', 'unshare', 'chroot', 'mount', 'setpriv'];

/** Why this machine cannot run a minimal one. */
export const obstacleToMinimalMachine = (): string | undefined => {
  if (process.getuid?.() !== 0) return 'only root can enter another root file system';
  const missing = PROGRAMS.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  if (missing.length > 0) return `${missing.join(', ')}: not on this machine`;
  return spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0
    ? undefined
    : 'this machine allows no mount namespace';
};

/**
 * Debian's required packages in a separate root file system, with only this machine's Node.js and npm: no other program
 * of this machine is available. It shares this machine's network. Mounts and processes end with the command.
 */
export const minimalMachine = (): MinimalMachine => {
  const root = ensureRoot();
  const node = realpathSync(process.execPath);
  const npm = dirname(dirname(realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim())));
  return {
    enter: (folder, workFolder) => [
      ...['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', ENTER, 'enter'],
      ...[root, node, npm, folder, workFolder],
    ],
  };
};

/**
 * A copy of the root in memory per command, so that one leaves nothing for the next, and separate shared memory: test
 * runs delete folders there whose processes are gone, and this machine's processes are invisible. The arguments after
 * the first five are run; node and npm are mounted on the system's PATH.
 */
const ENTER = `set -eu
root=$1 node=$2 npm=$3 folder=$4 work=$5; shift 5
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /mnt
cp -a "$root/." /mnt
for file in resolv.conf hosts ssl/certs/ca-certificates.crt; do cp -L "/etc/$file" "/mnt/etc/$file"; done
rm -rf /mnt/etc/apt/sources.list /mnt/etc/apt/sources.list.d; cp -a /etc/apt/sources.list.d /mnt/etc/apt/
if [ -e /etc/apt/sources.list ]; then cp -a /etc/apt/sources.list /mnt/etc/apt/; fi
mount -t proc proc /mnt/proc
mount --rbind /dev /mnt/dev
mount -t tmpfs -o mode=1777 tmpfs /mnt/dev/shm
mount -t sysfs -o ro sysfs /mnt/sys
touch /mnt/usr/local/bin/node; mount --bind -o ro "$node" /mnt/usr/local/bin/node
mkdir -p /mnt/usr/local/lib/node_modules/npm; mount --bind -o ro "$npm" /mnt/usr/local/lib/node_modules/npm
for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "/mnt/usr/local/bin/$name"; done
mkdir -p "/mnt$folder"; mount --bind "$folder" "/mnt$folder"
# The first process of a machine collects those whose parents have died; npm would not.
chroot /mnt sh -c 'cd "$0" && exec "$@"' "$work" "$@" &
wait "$!"
`;

const ensureRoot = (): string => {
  const mirrors = debianMirrors(readAptSources()).map(({ uri }) => uri);
  const suite = /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';
  const recipe = ['--mode=root', '--variant=minbase', '--format=directory', `--include=${PACKAGES.join(',')}`, suite];
  const name = createHash('sha256').update(JSON.stringify(recipe)).digest('hex').slice(0, 16);
  const root = join(cacheFolder(process.env, '/var/cache/fairlead'), 'minimal', `${suite}-${name}`);
  if (existsSync(root)) return root;
  const partial = `${root}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(dirname(root), { recursive: true });
  execFileSync('mmdebstrap', [...recipe, partial, ...mirrors], { stdio: 'ignore', timeout: BUILD_TIMEOUT_MS });
  renameSync(partial, root);
  return root;
};
