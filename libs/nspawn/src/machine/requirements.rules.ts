/** Programs that hosts need on the machine, and the Debian package that holds each. */
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

/** What was found on the machine. */
export interface Findings {
  readonly platform: string;
  readonly isRoot: boolean;
  readonly missingPrograms: readonly string[];
  readonly hasOverlay: boolean;
  readonly watches: FileWatches;
  /** Absent: no folder was named. */
  readonly disk?: DiskRoom;
}

/** How many inotify instances root may have, on the machine and all its hosts together, and has. Most kernels begin with 128. */
export interface FileWatches {
  readonly limit: number;
  readonly used: number;
}

/** The file system that hosts stand on. */
export interface DiskRoom {
  readonly folder: string;
  readonly totalBytes: number;
  /** To whoever is not root, as kubelets count it. */
  readonly freeBytes: number;
}

/** A kubelet whose images have less than 15 % of their file system free evicts pods and taints its node with disk-pressure. */
const DISK_FREE_MIN = 0.15;
const GIB = 1_024 ** 3;

/** What helps where kubelets would find too little room; undefined: there is enough. */
export const noRoomOnDisk = ({ folder, totalBytes, freeBytes }: DiskRoom): string | undefined => {
  if (totalBytes === 0 || freeBytes / totalBytes >= DISK_FREE_MIN) return undefined;
  const full = Math.floor((1 - freeBytes / totalBytes) * 100);
  const missing = Math.ceil((totalBytes * DISK_FREE_MIN - freeBytes) / GIB);
  return (
    `the file system of ${folder} is ${full} % full, and from 85 % on kubelets taint their nodes with disk-pressure and evict pods. ` +
    `Free ${missing} GiB there, or use another folder`
  );
};

/** What systemd, containerd, the kubelet and Kubernetes' own programs have of them on one host. */
const WATCHES = { controlPlane: 26, worker: 15 } as const;

/** What helps where a cluster would exceed the limit; undefined: it has room. A kubelet without any does not run. */
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
 * What is in the way of local hosts, each with what helps. Empty: nothing. The first of a folder is a control plane; where some run
 * already, the next one may be a worker, which needs less.
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

/** The command that installs what is missing, on Debian and its descendants. */
export const installLine = (missingPrograms: readonly string[]): string =>
  `apt-get install --yes --no-install-recommends ${packagesOf(missingPrograms).join(' ')}`;

export const packagesOf = (missingPrograms: readonly string[]): readonly string[] => [
  ...new Set(PACKAGES.filter(([program]) => missingPrograms.includes(program)).map(([, name]) => name)),
];
