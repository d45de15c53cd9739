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
}

/** How many inotify instances root may have, on the machine and all its hosts together, and has. Most kernels begin with 128. */
export interface FileWatches {
  readonly limit: number;
  readonly used: number;
}

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
  const { platform, isRoot, missingPrograms, hasOverlay, watches } = findings;
  if (platform !== 'linux') return [`local hosts need Linux; this is ${platform}`];
  const unwatched = hostsRunning === 0 ? noRoomToWatch(watches, 1, 0) : noRoomToWatch(watches, 0, 1);
  return [
    ...(isRoot ? [] : ['local hosts need root: they have namespaces, mounts and groups of their own']),
    ...(missingPrograms.length === 0
      ? []
      : [`missing: ${missingPrograms.join(', ')}. Install them: ${installLine(missingPrograms)}`]),
    ...(hasOverlay ? [] : ['this kernel has no overlay file system (modprobe overlay)']),
    ...(unwatched === undefined ? [] : [unwatched]),
  ];
};

/** The command that installs what is missing, on Debian and its descendants. */
export const installLine = (missingPrograms: readonly string[]): string =>
  `apt-get install --yes --no-install-recommends ${packagesOf(missingPrograms).join(' ')}`;

export const packagesOf = (missingPrograms: readonly string[]): readonly string[] => [
  ...new Set(PACKAGES.filter(([program]) => missingPrograms.includes(program)).map(([, name]) => name)),
];
