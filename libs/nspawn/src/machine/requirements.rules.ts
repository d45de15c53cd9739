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
}

/** What is in the way of local hosts, each with what helps. Empty: nothing. */
export const obstaclesOf = ({ platform, isRoot, missingPrograms, hasOverlay }: Findings): readonly string[] => {
  if (platform !== 'linux') return [`local hosts need Linux; this is ${platform}`];
  return [
    ...(isRoot ? [] : ['local hosts need root: they have namespaces, mounts and groups of their own']),
    ...(missingPrograms.length === 0
      ? []
      : [`missing: ${missingPrograms.join(', ')}. Install them: ${installLine(missingPrograms)}`]),
    ...(hasOverlay ? [] : ['this kernel has no overlay file system (modprobe overlay)']),
  ];
};

/** The command that installs what is missing, on Debian and its descendants. */
export const installLine = (missingPrograms: readonly string[]): string =>
  `apt-get install --yes --no-install-recommends ${packagesOf(missingPrograms).join(' ')}`;

export const packagesOf = (missingPrograms: readonly string[]): readonly string[] => [
  ...new Set(PACKAGES.filter(([program]) => missingPrograms.includes(program)).map(([, name]) => name)),
];
