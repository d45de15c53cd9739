/** Programs that hosts need on the machine, and the Debian package of each. */
const PACKAGES: readonly (readonly [program: string, debianPackage: string])[] = [
  ['systemd-nspawn', 'systemd-container'],
  ['mmdebstrap', 'mmdebstrap'],
  ['ip', 'iproute2'],
  ['haproxy', 'haproxy'],
  ['nsenter', 'util-linux'],
  ['unshare', 'util-linux'],
  ['setpriv', 'util-linux'],
  ['flock', 'util-linux'],
];

export const REQUIRED_PROGRAMS = PACKAGES.map(([program]) => program);

/** Facts about the machine. */
export interface Findings {
  readonly platform: string;
  readonly isRoot: boolean;
  readonly missingPrograms: readonly string[];
  readonly hasOverlay: boolean;
  readonly watches: FileWatches;
  /** Absent: no folder was given. */
  readonly disk?: DiskRoom;
}

/**
 * Limit and use of root's inotify instances, for the machine and all its hosts together. Most kernels default to 128.
 */
export interface FileWatches {
  readonly limit: number;
  readonly used: number;
}

/** The file system of the hosts. */
export interface DiskRoom {
  readonly folder: string;
  readonly totalBytes: number;
  /** Available to non-root users, as kubelets count it. */
  readonly freeBytes: number;
}

/** A kubelet with less than 15 % free on its image file system evicts pods and taints its node with disk-pressure. */
const DISK_FREE_MIN = 0.15;
const GIB = 1_024 ** 3;

/** The remedy if kubelets would find too little free space; undefined: it is sufficient. */
export const noRoomOnDisk = ({ folder, totalBytes, freeBytes }: DiskRoom): string | undefined => {
  if (totalBytes === 0 || freeBytes / totalBytes >= DISK_FREE_MIN) return undefined;
  const full = Math.floor((1 - freeBytes / totalBytes) * 100);
  const missing = Math.ceil((totalBytes * DISK_FREE_MIN - freeBytes) / GIB);
  return (
    `the file system of ${folder} is ${full} % full, and from 85 % on kubelets taint their nodes with disk-pressure and evict pods. ` +
    `Free ${missing} GiB there, or use another folder`
  );
};

/** Inotify instances of systemd, containerd, the kubelet and Kubernetes' own programs on one host. */
const WATCHES = { controlPlane: 26, worker: 15 } as const;

/** The remedy if a cluster would exceed the limit; undefined: it would not. A kubelet without any does not run. */
export const noRoomToWatch = (
  { limit, used }: FileWatches,
  controlPlanes: number,
  workers: number,
): string | undefined => {
  const needed = controlPlanes * WATCHES.controlPlane + workers * WATCHES.worker;
  if (limit - used >= needed) return undefined;
  const hosts = controlPlanes === 0 && workers === 1 ? 'a worker' : `a cluster of ${controlPlanes} + ${workers} hosts`;
  return (
    `${hosts} has up to ${needed} inotify instances, and ${used} of root's ${limit} are in use. ` +
    `Allow more: sysctl -w fs.inotify.max_user_instances=${Math.max(512, 2 * (used + needed))}`
  );
};

/**
 * The obstacles to local hosts, each with a remedy. Empty: none. The first host of a folder is a control plane; if some
 * are running, the next one may be a worker, which needs less.
 */
export const obstaclesOf = (findings: Findings, hostsRunning = 0): readonly string[] => {
  const { platform, isRoot, missingPrograms, hasOverlay, watches, disk } = findings;
  if (platform !== 'linux') return [`local hosts need Linux; this is ${platform}`];
  const unwatched = hostsRunning === 0 ? noRoomToWatch(watches, 1, 0) : noRoomToWatch(watches, 0, 1);
  const full = disk === undefined ? undefined : noRoomOnDisk(disk);
  return [
    ...(isRoot ? [] : ['local hosts need root: they have namespaces, mounts and groups of their own']),
    ...(missingPrograms.length === 0
      ? []
      : [`missing: ${missingPrograms.join(', ')}. Install them: ${installLine(missingPrograms)}`]),
    ...(hasOverlay ? [] : ['this kernel has no overlay file system (modprobe overlay)']),
    ...(unwatched === undefined ? [] : [unwatched]),
    ...(full === undefined ? [] : [full]),
  ];
};

/** The command that installs missing programs, on Debian and its derivatives. */
export const installLine = (missingPrograms: readonly string[]): string =>
  `apt-get install --yes --no-install-recommends ${packagesOf(missingPrograms).join(' ')}`;

export const packagesOf = (missingPrograms: readonly string[]): readonly string[] => [
  ...new Set(PACKAGES.filter(([program]) => missingPrograms.includes(program)).map(([, name]) => name)),
];
