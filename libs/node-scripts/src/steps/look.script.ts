import { AGENT_PATHS, type HostBaseline } from '@fairlead/contracts';
import * as z from 'zod';
import { hostPath, quote } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';
import { BASELINE, BASELINE_JSON } from './host-wipe.parts.js';
import { PORTS, RULES, TABLES } from './kubeadm-reset.script.js';
import { DEVICES } from './pod.devices.js';

export interface LookInput {
  /** Addresses that may already be in use in the host's network; absent: none is probed. */
  readonly probe?: readonly string[];
}

/** Maximum addresses per inspection: each probe may take two seconds. */
export const PROBES_MAX = 4;
const ITEMS_MAX = 100;
const text = z.string().max(300);
const texts = z.array(text).max(ITEMS_MAX);

const Folder = z.strictObject({
  path: text,
  freeMiB: z.number().min(0),
  usedPercent: z.number().min(0).max(100),
  /** Mount options. */
  options: text,
});

/** Everything that determines whether a host can become a node. An empty text: not reported. */
export const HostFacts = z.strictObject({
  /** Uid of the user that runs commands. */
  user: text,
  hasSystemd: z.boolean(),
  /** From `uname`. */
  machine: text,
  kernel: text,
  /** v1 or v2: the hierarchy that a kubelet would find. */
  cgroup: text,
  machineId: text,
  productUuid: text,
  /** Addresses of its interfaces; IPv6 as 32 hexadecimal digits. Empty: not reported by the kernel. */
  addresses: texts,
  /** Its clock, in seconds since 1970. */
  clock: z.number(),
  /** Files and folders left by another cluster. */
  leftovers: texts,
  /** Running units of another cluster. */
  units: texts,
  /** Network interfaces left by another cluster. */
  devices: texts,
  /** Containers running in containerd's Kubernetes namespace. */
  containers: texts,
  /** nftables tables and iptables chains left by another cluster. */
  rules: texts,
  /** Kubernetes ports that are in use. */
  ports: z.array(z.int()).max(ITEMS_MAX),
  /** The node of an existing agent on the host; null: no agent. */
  agent: z.strictObject({ node: text }).nullable(),
  folders: z.array(Folder).max(ITEMS_MAX),
  /** The probed addresses that answered. */
  answering: texts,
});
export type HostFacts = z.infer<typeof HostFacts>;

/** The size and state of a free host. */
export interface LookResult {
  readonly cpus: number;
  readonly memoryMiB: number;
  readonly facts: HostFacts;
  readonly baseline: HostBaseline;
}

/** Folders with a node's programs and most of its data. */
const FOLDERS = ['/var/lib', '/opt', '/usr/bin', '/etc', '/tmp'];

/** Folders in which any file belongs to a cluster. */
const CLUSTER_FOLDERS = ['etc/kubernetes', 'var/lib/kubelet', 'var/lib/etcd', 'etc/cni/net.d'];
const CLUSTER_PATHS = [
  'etc/rancher/k3s',
  'etc/rancher/rke2',
  'var/lib/rancher/k3s',
  'var/lib/rancher/rke2',
  'var/lib/k0s',
  'var/snap/microk8s/current',
];
const CLUSTER_UNITS = [
  'kubelet',
  'etcd',
  'k3s',
  'k3s-agent',
  'rke2-server',
  'rke2-agent',
  'k0scontroller',
  'k0sworker',
  'snap.microk8s.daemon-kubelite',
];

const LISTS = `
# Lines become a list of texts.
list() {
  head -n ${ITEMS_MAX} | {
    between=''
    while IFS= read -r line; do
      printf '%s%s' "$between" "$(json_text "$(printf '%s' "$line" | cut -c 1-300)")"
      between=,
    done
  }
}
said() { json_text "$(head -n 1 "$root/$1" 2>/dev/null | tr -d ' \\t' | cut -c 1-100)"; }`;

const LEFT = `
leftovers() {
  for folder in ${CLUSTER_FOLDERS.join(' ')}; do
    find "$root/$folder" -type f -print 2>/dev/null | head -n 3 || true
  done
  for path in ${CLUSTER_PATHS.join(' ')}; do
    if [ -e "$root/$path" ]; then printf '%s\\n' "$root/$path"; fi
  done
}
units() {
  for unit in ${CLUSTER_UNITS.join(' ')}; do
    if systemctl is-active --quiet "$unit.service" 2>/dev/null; then printf '%s\\n' "$unit"; fi
  done
}
devices() {
  for device in "$root"/sys/class/net/*; do printf '%s\\n' "\${device##*/}"; done | grep -E '${DEVICES}' || true
}
has() { command -v "$1" >/dev/null 2>&1; }
# Those of the kernel and the runtime are the host's own: a simulated host has none, and must not show ours.
containers() {
  if [ -z "$root" ] && has ctr && [ -S "$root/run/containerd/containerd.sock" ]; then
    timeout 10 ctr --namespace k8s.io tasks list --quiet 2>/dev/null || true
  fi
}
# iptables-save would load the modules of kernels that use no iptables: nft shows the same, and the kernel lists legacy tables.
rules() {
  if [ -n "$root" ]; then return; fi
  if has nft; then
    timeout 10 nft list tables 2>/dev/null | awk '{ print $2, $3 }' | grep -E ' (${TABLES})' || true
    timeout 10 nft list chains 2>/dev/null | awk '$1 == "chain" { print $2 }' | grep -E '^(${RULES})' | sort -u | head -n 20 || true
  fi
  for family in ip ip6; do
    if [ -s "$root/proc/net/\${family}_tables_names" ] && has "\${family}tables-legacy-save"; then
      timeout 10 "\${family}tables-legacy-save" 2>/dev/null | sed -n 's/^:\\([^ ]*\\) .*/\\1/p' | grep -E '^(${RULES})' | sort -u | head -n 20 || true
    fi
  done
}
agent=null
if [ -e ${hostPath(AGENT_PATHS.config)} ]; then
  node=$(awk -F '"' '$2 == "node" { print $4; exit }' ${hostPath(AGENT_PATHS.config)} | cut -c 1-100)
  agent="{\\"node\\":$(json_text "$node")}"
fi`;

/** The kernel's own tables, which need no program: every host has them. */
const NETWORK = `
addresses() {
  awk '/32 host LOCAL/ { print before } { before = $2 }' "$root/proc/net/fib_trie" 2>/dev/null || true
  awk '{ print $1 }' "$root/proc/net/if_inet6" 2>/dev/null || true
}
# State 0A listens; ports are hexadecimal.
ports() {
  for port in ${PORTS.join(' ')}; do
    hex=$(printf '%04X' "$port")
    if cat "$root/proc/net/tcp" "$root/proc/net/tcp6" 2>/dev/null | awk -v port=":$hex" '$4 == "0A" && substr($2, length($2) - 4) == port { found = 1 } END { exit !found }'; then
      printf '%s%s' "$comma" "$port"
      comma=,
    fi
  done
}
comma=''`;

const DISKS = `
folders() {
  comma=''
  for folder in ${FOLDERS.join(' ')}; do
    place="$root$folder"
    while [ ! -d "$place" ] && [ "$place" != / ] && [ -n "$place" ]; do place=\${place%/*}; done
    # shellcheck disable=SC2046 # Each word is one of them.
    set -- $(df -P -k "\${place:-/}" 2>/dev/null | awk 'END { sub("%", "", $5); print int($4 / 1024), $5 + 0, $6 }')
    options=$(awk -v at="\${3:-/}" '$2 == at { found = $4 } END { print found }' "$root/proc/self/mounts" 2>/dev/null || true)
    if [ "$#" -ge 3 ]; then
      printf '%s{"path":"%s","freeMiB":%s,"usedPercent":%s,"options":%s}' "$comma" "$folder" "$1" "$2" "$(json_text "$(printf '%s' "$options" | cut -c 1-300)")"
      comma=,
    fi
  done
}
# A kubelet looks at this mount alone: a hybrid hierarchy, with cgroup2 below a tmpfs, is v1 to it.
cgroup() {
  awk '$2 == "/sys/fs/cgroup" { found = $3 } END { if (found != "") print found == "cgroup2" ? "v2" : "v1" }' "$root/proc/self/mounts" 2>/dev/null || true
}`;

/** Within the same network, a machine that drops pings still answers ARP or neighbour solicitations. */
const probing = (addresses: readonly string[]): string => `
answering() {
  for address in ${addresses.map(quote).join(' ')}; do
    if ping -c 1 -w 2 "$address" >/dev/null 2>&1 || ping6 -c 1 -w 2 "$address" >/dev/null 2>&1 || ip neigh show to "$address" 2>/dev/null | grep -v FAILED | grep -q lladdr; then
      printf '%s\\n' "$address"
    fi
  done
}`;

const FACTS = [
  '\\"user\\":$(json_text "$(id -u)")',
  '\\"hasSystemd\\":$systemd',
  '\\"machine\\":$(json_text "$(uname -m)")',
  '\\"kernel\\":$(json_text "$(uname -r)")',
  '\\"cgroup\\":$(json_text "$(cgroup)")',
  '\\"machineId\\":$(said etc/machine-id)',
  '\\"productUuid\\":$(said sys/class/dmi/id/product_uuid)',
  '\\"addresses\\":[$(addresses | sort -u | list)]',
  '\\"leftovers\\":[$(leftovers | sed "s|^$root||" | list)]',
  '\\"units\\":[$(units | list)]',
  '\\"devices\\":[$(devices | list)]',
  '\\"containers\\":[$(containers | list)]',
  '\\"rules\\":[$(rules | list)]',
  '\\"ports\\":[$(ports)]',
  '\\"agent\\":$agent',
  '\\"folders\\":[$(folders)]',
  '\\"answering\\":[$(answering | list)]',
  // Last, so that a slow inspection is not mistaken for a clock that is behind.
  '\\"clock\\":$(date +%s)',
].join(',');

/**
 * Inspects an inventory host without changes: its size, and everything that determines whether it can become a node.
 */
export const lookScript = ({ probe = [] }: LookInput): HostScript =>
  script(
    { step: 'look', limitSeconds: 30, lockSeconds: null },
    `
${LISTS.trim()}
systemd=false
if command -v systemctl >/dev/null 2>&1; then systemd=true; fi
${LEFT.trim()}
${NETWORK.trim()}
${DISKS.trim()}
${probe.length === 0 ? 'answering() { :; }' : probing(probe.slice(0, PROBES_MAX)).trim()}
${BASELINE.trim()}
pages=$(getconf _PHYS_PAGES)
page=$(getconf PAGESIZE)
result "{\\"cpus\\":$(getconf _NPROCESSORS_ONLN),\\"memoryMiB\\":$((pages * page / 1048576)),\\"baseline\\":${BASELINE_JSON},\\"facts\\":{${FACTS}}}"
`,
  );
