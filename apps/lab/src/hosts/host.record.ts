import * as z from 'zod';
import type { Taint } from '../kubernetes/index.js';
import { UnitRecord } from '../services/unit.record.js';

/** Properties of a host that do not change, except its address, which may change at a boot. */
export interface HostFacts {
  readonly machineId: string;
  readonly name: string;
  readonly address: string;
  readonly cpuCount: number;
  readonly memoryGiB: number;
  readonly region: string;
  readonly zone: string;
  readonly osImage: string;
}

/**
 * The Node that the kubelet registers itself: the values of its flags (--node-labels, --register-with-taints,
 * --provider-id), and versions.
 */
const Registration = z.object({
  labels: z.record(z.string(), z.string()),
  taints: z.custom<readonly Taint[]>(Array.isArray).optional(),
  providerId: z.string().optional(),
  kubeletVersion: z.string(),
  containerRuntimeVersion: z.string(),
});

/** The host's membership of a cluster, set by kubeadm. */
const Membership = z.object({
  clusterId: z.string(),
  nodeName: z.string(),
  role: z.enum(['control-plane', 'worker']),
  /** Absent if it joined before this field existed. */
  registration: Registration.optional(),
});
export type Membership = z.infer<typeof Membership>;

/** State of a host outside its files; kept across restarts of the lab. Mutable, because the host is its only owner. */
export const HostRecord = z.object({
  hostname: z.string(),
  bootId: z.string(),
  bootedAtMs: z.number(),
  packageIndexFetched: z.boolean(),
  /** Debian versions of the installed packages by name. */
  packages: z.record(z.string(), z.string()),
  heldPackages: z.array(z.string()),
  units: z.record(z.string(), UnitRecord),
  sysctls: z.record(z.string(), z.string()),
  modules: z.array(z.string()),
  swapOn: z.boolean(),
  membership: Membership.nullable(),
  /** When kubeadm last created or renewed the certificates of this control plane; 0: at its first boot. */
  certificatesAtMs: z.number().default(0),
  /** The boot ID at which its container runtime hung; null: none. */
  hungBootId: z.string().nullable().default(null),
  /** The boot ID at which it lost its pod network; null: none. */
  networkLostBootId: z.string().nullable().default(null),
  diskFull: z.boolean().default(false),
});
export type HostRecord = z.infer<typeof HostRecord>;

export const KERNEL_VERSION = '6.1.0-28-amd64';
export const ARCHITECTURE = 'x86_64';

/** The kernel's settings after a boot, before the files of the host are applied. */
export const DEFAULT_SYSCTLS: Readonly<Record<string, string>> = {
  'net.ipv4.ip_forward': '0',
  'net.ipv6.conf.all.forwarding': '0',
  'vm.swappiness': '60',
  'vm.overcommit_memory': '0',
  'kernel.panic': '0',
  'kernel.panic_on_oops': '0',
  'vm.panic_on_oom': '0',
  'vm.max_map_count': '65530',
  'fs.inotify.max_user_watches': '122425',
  'fs.inotify.max_user_instances': '128',
};

/** These exist only while br_netfilter is loaded. */
export const BRIDGE_SYSCTLS = ['net.bridge.bridge-nf-call-iptables', 'net.bridge.bridge-nf-call-ip6tables'] as const;

export const newHostRecord = (hostname: string, bootId: string): HostRecord => ({
  hostname,
  bootId,
  bootedAtMs: 0,
  packageIndexFetched: false,
  packages: {},
  heldPackages: [],
  units: {},
  sysctls: { ...DEFAULT_SYSCTLS },
  modules: [],
  swapOn: true,
  membership: null,
  certificatesAtMs: 0,
  hungBootId: null,
  networkLostBootId: null,
  diskFull: false,
});
