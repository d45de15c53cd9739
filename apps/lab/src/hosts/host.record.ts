import * as z from 'zod';
import type { Taint } from '../kubernetes/index.js';
import { UnitRecord } from '../services/unit.record.js';

/** What never changes about a host, but for its address, which another boot may change. */
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

/** The Node that its kubelet registers by itself: what its flags say (--node-labels, --register-with-taints, --provider-id), and versions. */
const Registration = z.object({
  labels: z.record(z.string(), z.string()),
  taints: z.custom<readonly Taint[]>(Array.isArray).optional(),
  providerId: z.string().optional(),
  kubeletVersion: z.string(),
  containerRuntimeVersion: z.string(),
});

/** The host's place in a cluster, once kubeadm has put it there. */
const Membership = z.object({
  clusterId: z.string(),
  nodeName: z.string(),
  role: z.enum(['control-plane', 'worker']),
  /** Absent: it joined before this was recorded. */
  registration: Registration.optional(),
});
export type Membership = z.infer<typeof Membership>;

/** What a host remembers outside its files; it survives a restart of the lab. Mutable: the host is its only owner. */
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
  /** When kubeadm last made or renewed the certificates of this control plane; 0: with its first boot. */
  certificatesAtMs: z.number().default(0),
  /** The boot in which its container runtime hangs; null: none. */
  hungBootId: z.string().nullable().default(null),
  /** The boot in which it has lost its pod network; null: none. */
  networkLostBootId: z.string().nullable().default(null),
  diskFull: z.boolean().default(false),
});
export type HostRecord = z.infer<typeof HostRecord>;

export const KERNEL_VERSION = '6.1.0-28-amd64';
export const ARCHITECTURE = 'x86_64';

/** The kernel's settings after a boot, before any file of the host is read. */
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
