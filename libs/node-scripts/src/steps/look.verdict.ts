import { isSameAddress, type HostCheck } from '@fairlead/contracts';
import type { HostFacts } from './look.script.js';

/** When an inspection was sent and answered, in milliseconds since 1970 by Fairlead's clock. */
export interface LookedAt {
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** Expectations of a host beyond its own state. */
export interface Expected {
  /** The address of its node; null: determined by its provider. */
  readonly address: string | null;
  /** null: its clock is not compared. */
  readonly lookedAt: LookedAt | null;
  /** The profile of its connection has `failCgroupV1: false`. */
  readonly cgroupV1?: boolean;
}

/** Certificates are valid from their signing: to a clock further behind they are not valid yet. */
export const CLOCK_TOLERANCE_MS = 5_000;
/** Kubelets taint a node when 15 % are left (imagefs.available). */
const USED_PERCENT_MAX = 85;
/** For images of the control plane and of a network plugin. */
const FREE_MIB_MIN = { '/var/lib': 2_048, '/opt': 300, '/usr/bin': 300 } as const;
/** Folders in which programs of a node, or of its containers, run. */
const EXECUTABLE = ['/var/lib', '/opt', '/usr/bin'];
const WRITTEN = ['/var/lib', '/opt', '/usr/bin', '/etc', '/tmp'];
const MACHINES = ['x86_64', 'aarch64', 'ppc64le', 's390x'];
/** kubeadm's preflight rejects older ones. */
const KERNEL_MIN = { major: 4, minor: 19 } as const;
const SHOWN_MAX = 4;
/** Networks of tools for containers that are no cluster. */
const NETWORKS = /^\/etc\/cni\/net\.d\/[^/]*(podman|crio)[^/]*$/;
const NODE_FILES = /^\/(etc\/kubernetes\/(kubelet|admin)\.conf|var\/lib\/etcd\/member(\/.*)?)$/;

const few = (items: readonly string[]): string =>
  items.slice(0, SHOWN_MAX).join(', ') + (items.length > SHOWN_MAX ? ` and ${items.length - SHOWN_MAX} more` : '');

/** The kernel prints IPv6 addresses as 32 digits. */
const readable = (address: string): string =>
  /^[0-9a-f]{32}$/.test(address) ? (address.match(/.{4}/g) ?? []).join(':') : address;

const isLoopback = (address: string): boolean => /^127\./.test(address) || isSameAddress(address, '::1');
const isLinkLocal = (address: string): boolean => /^(169\.254\.|fe80:)/.test(address);

/** The addresses at which others could reach the host. */
export const ownAddresses = ({ addresses }: Pick<HostFacts, 'addresses'>): readonly string[] =>
  addresses.map(readable).filter((address) => !isLoopback(address) && !isLinkLocal(address));

const addressProblems = (facts: HostFacts, address: string | null): readonly string[] => {
  if (address === null || facts.addresses.length === 0 || isLoopback(address)) return [];
  const own = ownAddresses(facts);
  if (own.some((one) => isSameAddress(one, address))) return [];
  const has = own.length === 0 ? 'none' : few(own);
  return [
    `it has no interface with the address ${address} (it has ${has}): give the one that it has as its privateAddress`,
  ];
};

const since = (ms: number): string => {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
};

const clockProblems = ({ clock }: HostFacts, lookedAt: LookedAt | null): readonly string[] => {
  if (lookedAt === null) return [];
  const behindMs = lookedAt.sentMs - (clock + 1) * 1_000;
  const aheadMs = clock * 1_000 - lookedAt.answeredMs;
  const offMs = Math.max(behindMs, aheadMs);
  if (offMs <= CLOCK_TOLERANCE_MS) return [];
  const side = behindMs > aheadMs ? 'behind' : 'ahead of';
  return [
    `its clock is ${since(offMs)} ${side} the clock of Fairlead: certificates would not be valid. Set it, e.g. timedatectl set-ntp true`,
  ];
};

const rootProblems = ({ user }: HostFacts): readonly string[] => (user === '0' ? [] : ['commands do not run as root']);

const machineProblems = ({ hasSystemd, machine, kernel }: HostFacts): readonly string[] => {
  const [major = 0, minor = 0] = (/^(\d+)\.(\d+)/.exec(kernel)?.slice(1) ?? []).map(Number);
  const isOld = major > 0 && (major < KERNEL_MIN.major || (major === KERNEL_MIN.major && minor < KERNEL_MIN.minor));
  return [
    ...(hasSystemd ? [] : ['it has no systemd']),
    ...(MACHINES.includes(machine) ? [] : [`Kubernetes has no release for its architecture ${machine}`]),
    ...(isOld ? [`its kernel ${kernel} is older than ${KERNEL_MIN.major}.${KERNEL_MIN.minor}`] : []),
  ];
};

/** kubelets fail there since v1.35, unless their configuration lets them run. */
const cgroupProblems = ({ cgroup }: HostFacts, isAllowed: boolean): readonly string[] =>
  cgroup !== 'v1' || isAllowed
    ? []
    : [
        'it has cgroup v1, on which kubelets of v1.35 and later do not start: boot it with systemd.unified_cgroup_hierarchy=1, or set failCgroupV1: false and ignorePreflightErrors: [SystemVerification] in the profile of the connection',
      ];

/** The container runtime takes the first network that it finds: those pods that start before the plugin would get it. */
const networkProblems = ({ leftovers }: HostFacts): readonly string[] => {
  const networks = leftovers.filter((path) => NETWORKS.test(path));
  return networks.length === 0
    ? []
    : [
        `${few(networks)} is a network of ${networks.some((path) => path.includes('podman')) ? 'podman' : 'CRI-O'}, which the first pods would get: move it out of /etc/cni/net.d`,
      ];
};

const clusterProblems = ({
  leftovers,
  units,
  devices,
  containers,
  rules,
  ports,
  agent,
}: HostFacts): readonly string[] => {
  const node = leftovers.find((path) => NODE_FILES.test(path));
  const others = leftovers.filter((path) => !NODE_FILES.test(path) && !NETWORKS.test(path));
  const rest = 'is left of another cluster: reset the host (kubeadm reset, k3s-uninstall.sh), or reinstall it';
  return [
    ...(node === undefined ? [] : [`it is a Kubernetes node already (${node} exists)`]),
    ...(agent === null
      ? []
      : [`it has an agent of another cluster${agent.node === '' ? '' : ` (node ${agent.node})`}`]),
    ...(units.length === 0 ? [] : [`${few(units)} of another cluster runs: stop and remove it`]),
    ...(others.length === 0 || node !== undefined ? [] : [`${few(others)} ${rest}`]),
    ...(devices.length === 0 ? [] : [`the interface ${few(devices)} ${rest}`]),
    ...(containers.length === 0
      ? []
      : [
          `${containers.length === 1 ? 'a container' : `${containers.length} containers`} of another cluster run${containers.length === 1 ? 's' : ''}, as ctr -n k8s.io tasks list shows: reset the host (kubeadm reset), or reinstall it`,
        ]),
    ...(rules.length === 0
      ? []
      : [
          `packet filter rules of another cluster are left (${few(rules)}): delete them (nft delete table, iptables -F and -X), or reboot the host`,
        ]),
    ...(ports.length === 0
      ? []
      : [`something listens on ${few(ports.map((port) => `port ${port}`))}, which a node needs: ss -tlnp names it`]),
  ];
};

const folderProblems = ({ folders }: HostFacts): readonly string[] =>
  folders.flatMap(({ path, freeMiB, usedPercent, options }) => {
    const has = options.split(',');
    const free = FREE_MIB_MIN[path as keyof typeof FREE_MIB_MIN] ?? 0;
    const isFull = path === '/var/lib' && usedPercent > USED_PERCENT_MAX;
    return [
      ...(has.includes('ro') && WRITTEN.includes(path)
        ? [`${path} is on a file system that is read-only: mount it with rw`]
        : []),
      ...(has.includes('noexec') && EXECUTABLE.includes(path)
        ? [`${path} is mounted noexec, and programs of a node run there: mount it with exec`]
        : []),
      ...(isFull ? [`${path} is ${usedPercent} % full: above ${USED_PERCENT_MAX} % its kubelet evicts pods`] : []),
      ...(freeMiB < free ? [`${path} has ${Math.floor(freeMiB)} MiB free, and a node needs ${free} MiB`] : []),
    ];
  });

/** The checks that need a login. */
export type FactCheck = Exclude<HostCheck, 'ssh' | 'hostKey'>;

/** What each check found, one sentence per problem with a remedy. */
export const checksOfHost = (
  facts: HostFacts,
  { address, lookedAt, cgroupV1 = false }: Expected,
): Readonly<Record<FactCheck, readonly string[]>> => ({
  root: rootProblems(facts),
  system: [...machineProblems(facts), ...cgroupProblems(facts, cgroupV1)],
  address: addressProblems(facts, address),
  clean: [...clusterProblems(facts), ...networkProblems(facts)],
  clock: clockProblems(facts, lookedAt),
  disk: folderProblems(facts),
});

/** Why a host cannot become a node now; empty: the inspection found no problem. */
export const problemsOfHost = (facts: HostFacts, expected: Expected): readonly string[] =>
  Object.values(checksOfHost(facts, expected)).flat();

/** The identity of a host. */
export interface Identified {
  readonly name: string;
  /** SHA256:<base64>; null: unknown. */
  readonly hostKey: string | null;
  readonly facts: Pick<HostFacts, 'machineId' | 'addresses'>;
}

const fingerprint = (facts: Identified['facts']): string => [...new Set(ownAddresses(facts))].toSorted().join(' ');

const isSameMachine = (one: Identified, other: Identified): boolean => {
  const addresses = fingerprint(one.facts);
  if (addresses === '' || addresses !== fingerprint(other.facts)) return false;
  const { machineId } = one.facts;
  return machineId === '' ? one.hostKey === other.hostKey : machineId === other.facts.machineId;
};

/** An earlier host of the list that is the same machine under another name; undefined: none. */
export const sameMachine = (host: Identified, before: readonly Identified[]): Identified | undefined =>
  before.find((other) => isSameMachine(host, other));

/** What a host shares with another one that was cloned from the same image; undefined: nothing. */
export const cloneWarning = (host: Identified, others: readonly Identified[]): string | undefined => {
  const { machineId } = host.facts;
  const twin = others.find((other) => machineId !== '' && other.facts.machineId === machineId);
  if (twin !== undefined)
    return `it has the machine-id of ${twin.name}, as a clone has: rm /etc/machine-id && systemd-machine-id-setup gives it one of its own`;
  const shown = others.find((other) => host.hostKey !== null && other.hostKey === host.hostKey);
  if (shown === undefined) return undefined;
  return `it has the SSH host key of ${shown.name}, as a clone has: rm /etc/ssh/ssh_host_* && ssh-keygen -A gives it one of its own`;
};
