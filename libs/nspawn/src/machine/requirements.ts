import { accessSync, constants, readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { runCommand } from '@fairlead/embedded/process';
import {
  obstaclesOf,
  REQUIRED_PROGRAMS,
  type DiskRoom,
  type FileWatches,
  type Findings,
} from './requirements.rules.js';

const MODPROBE_TIMEOUT_MS = 10_000;
/**
 * Kernel modules that hosts need and cannot load themselves. Built in on many machines, where modprobe has nothing to
 * do.
 */
const MODULES = ['overlay', 'veth', 'bridge', 'br_netfilter', 'nf_tables', 'nf_conntrack'];

const isOnPath = (program: string): boolean =>
  `${process.env['PATH'] ?? ''}${delimiter}/usr/sbin${delimiter}/sbin`.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false; // Not in this one.
    }
  });

const hasOverlay = (): boolean => {
  try {
    return /\boverlay$/m.test(readFileSync('/proc/filesystems', 'utf8'));
  } catch {
    return false; // No /proc: an unsuitable Linux.
  }
};

const ROOT = 0;

/** A process that ends during the inspection has nothing open. */
const unlessGone = <T>(look: () => T, otherwise: T): T => {
  try {
    return look();
  } catch {
    return otherwise;
  }
};

const watchesOf = (process: string): number => {
  if (unlessGone(() => statSync(process).uid, undefined) !== ROOT) return 0;
  const open = unlessGone(() => readdirSync(join(process, 'fd')), []);
  return open.filter((each) => unlessGone(() => readlinkSync(join(process, 'fd', each)), '') === 'anon_inode:inotify')
    .length;
};

/** Counts root's processes, including those of all hosts. */
export const fileWatches = (): FileWatches => {
  const limit = unlessGone(() => Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8')), Infinity);
  const processes = unlessGone(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name));
  return { limit, used: processes.reduce((sum, name) => sum + watchesOf(join('/proc', name)), 0) };
};

/** For a folder that need not exist yet. */
export const diskRoom = (folder: string): DiskRoom => {
  const found = unlessGone(() => statfsSync(folder), undefined);
  if (found === undefined && dirname(folder) !== folder) return { ...diskRoom(dirname(folder)), folder };
  const { blocks = 0, bavail = 0, bsize = 0 } = found ?? {};
  return { folder, totalBytes: blocks * bsize, freeBytes: bavail * bsize };
};

/** The location of new hosts, and the number of running ones. */
interface HostsPlace {
  readonly hostsRunning?: number;
  /** The folder of their disks; absent: free space is not checked. */
  readonly folder?: string;
}

/** The obstacles to another host on this machine; empty: none. Loads kernel modules if possible and needed. */
export const obstacles = async ({ hostsRunning = 0, folder }: HostsPlace = {}): Promise<readonly string[]> =>
  obstaclesOf({ ...(await findings()), ...(folder === undefined ? {} : { disk: diskRoom(folder) }) }, hostsRunning);

export const findings = async (): Promise<Findings> => {
  const isRoot = process.getuid?.() === 0;
  if (process.platform === 'linux' && isRoot && isOnPath('modprobe')) {
    // A module that cannot be loaded may be built in; if it is missing, its users report that.
    await runCommand('modprobe', ['--all', '--quiet', ...MODULES], { timeoutMs: MODPROBE_TIMEOUT_MS });
  }
  return {
    platform: process.platform,
    isRoot,
    missingPrograms: REQUIRED_PROGRAMS.filter((program) => !isOnPath(program)),
    hasOverlay: hasOverlay(),
    watches: fileWatches(),
  };
};
