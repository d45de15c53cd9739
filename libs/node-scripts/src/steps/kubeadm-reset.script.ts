import {
  AGENT_PATHS,
  EXTERNAL_ETCD,
  FIREWALL_UNDO_UNIT,
  FIREWALL_UNIT,
  NETWORK_PATHS,
  NFT_TABLE,
  HOST_CHANNEL_PATHS,
} from '@fairlead/contracts';
import { ADDRESSES, BALANCER } from '../balancer/balancer.paths.js';
import { TUNNEL_CLIENT } from '../tunnel/tunnel.unit.js';
import { API_PORT, CRI_SOCKET } from '../kubeadm/kubeadm.types.js';
import { HOST_UNIT } from '../join/host.unit.js';
import { hostPath, quote } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';
import { restoreHost, unloadModules } from './host-before.parts.js';
import { BASELINE, wipe as wiping, wiped, type Wipe } from './host-wipe.parts.js';
import { emptyFolder } from './kubeadm.parts.js';
import { DEVICES } from './pod.devices.js';

export interface KubeadmResetInput {
  /** Also removes the agent and its configuration. */
  readonly removeAgent: boolean;
  /**
   * The incarnation of the cluster that releases the host: a host that meanwhile belongs to another one is left
   * unchanged.
   */
  readonly of: string;
  /**
   * The host is returned to its owner: images, the runtime's state, logs, steps and programs are removed as well, and
   * the rest is compared with its state when the host was allocated. Absent: software and images are kept.
   */
  readonly wipe?: Wipe;
}

export interface KubeadmResetResult {
  readonly changed: boolean;
  /** What could not be removed, one sentence each; empty: the host is as if it had never been a node. */
  readonly left: readonly string[];
}

/** Chains, sets and tables of kube-proxy and of those plugins; no other rules are touched. */
export const RULES = 'KUBE-|CNI-|FLANNEL-|cali[-:]|CILIUM_|KILO-';
export const TABLES = 'kube-proxy|flannel-ipv[46]|cni_|calico';

/** Data of kubelets, etcd and those plugins. */
const FOLDERS = [
  'etc/kubernetes',
  'var/lib/etcd',
  'var/lib/cni',
  'run/flannel',
  'var/lib/kubelet',
  'var/lib/calico',
  'run/calico',
  'run/cilium',
  'sys/fs/bpf/cilium',
];

export const PORTS = [API_PORT, 2379, 2380, 10250, 10257, 10259];

/** Shell functions that inspect the host; each prints names, one per line. */
export const LOOKS = `
# A program of this host: those of a simulated one lie below its root, and others must not touch this machine.
has() { case $(command -v "$1" 2>/dev/null) in "$root"/*) true ;; *) false ;; esac; }
quiet() { "$@" >>"$log" 2>&1 9>&- || true; }

# A folder may be a mount of its own: what is in it goes, and the folder where it can.
hollow() {
  if [ -d "$1" ]; then
    find "$1" -mindepth 1 -maxdepth 1 -exec rm -rf {} + >>"$log" 2>&1 || true
    rmdir "$1" 2>/dev/null || true
  fi
}

mounts_below() {
  awk -v below="$1/" 'index($2, below) == 1 { print $2 }' "$root/proc/self/mounts" | sort -r
}

devices() {
  ip -o link show 2>/dev/null | awk -F ': ' '{ split($2, name, "@"); print name[1] }' | grep -E '${DEVICES}' || true
}

tables() {
  nft list tables 2>/dev/null | awk '{ print $2, $3 }' | grep -E ' (${TABLES})' || true
}

tasks() {
  if has ctr && [ -S "$root/run/containerd/containerd.sock" ]; then timeout 10 ctr --namespace k8s.io "$1" list --quiet 2>/dev/null || true; fi
}
`;

const AGENT = `
# What the agent began outlives it (KillMode=process): an apt-get would keep the next agent from its lock.
begun() {
  cat "$root/sys/fs/cgroup/system.slice/fairlead-agent.service/cgroup.procs" "$root/sys/fs/cgroup/systemd/system.slice/fairlead-agent.service/cgroup.procs" 2>/dev/null | while read -r pid; do
    if kill -0 "$pid" 2>/dev/null; then printf '%s\\n' "$pid"; fi
  done
}
end_begun() {
  if [ -z "$(begun)" ]; then return; fi
  # shellcheck disable=SC2046 # Each word is a process.
  quiet kill -TERM $(begun)
  waited=0
  while [ -n "$(begun)" ] && [ "$waited" -lt 10 ]; do
    sleep 1
    waited=$((waited + 1))
  done
  # shellcheck disable=SC2046 # The same.
  if [ -n "$(begun)" ]; then quiet kill -KILL $(begun); fi
  if [ -z "$root" ] && has dpkg; then quiet timeout 60 dpkg --configure -a --force-confold; fi
}
if [ -e ${hostPath(AGENT_PATHS.unit)} ]; then
  changed=true
  quiet systemctl disable --now fairlead-agent.service
  end_begun
  rm -f ${hostPath(AGENT_PATHS.unit)}
  quiet systemctl daemon-reload
fi
# The channel of a host that joined by itself runs this script: it ends when it finds its configuration gone.
if [ -e ${hostPath(HOST_CHANNEL_PATHS.config)} ]; then
  changed=true
  quiet systemctl disable ${HOST_UNIT}
  rm -f ${hostPath(HOST_CHANNEL_PATHS.config)} ${hostPath(HOST_CHANNEL_PATHS.credentials)} ${hostPath(HOST_CHANNEL_PATHS.seed)} ${hostPath(HOST_CHANNEL_PATHS.unit)} ${hostPath(HOST_CHANNEL_PATHS.program)}
  quiet systemctl daemon-reload
fi
${restoreHost.trim()}
rm -f ${[AGENT_PATHS.program, AGENT_PATHS.nextProgram, AGENT_PATHS.previousProgram, AGENT_PATHS.guard].map(hostPath).join(' ')}
hollow "$root/etc/fairlead"
if [ -d "$root/var/lib/fairlead" ]; then
  find "$root/var/lib/fairlead" -mindepth 1 -maxdepth 1 ! -name steps -exec rm -rf {} + >>"$log" 2>&1 || true
fi`;

/** Restores the original firewall and SSH server. */
const NETWORK = `
quiet systemctl stop ${FIREWALL_UNDO_UNIT}.timer
if [ -e ${hostPath(NETWORK_PATHS.firewall.unit)} ]; then
  changed=true
  quiet systemctl disable --now ${FIREWALL_UNIT}
  rm -f ${hostPath(NETWORK_PATHS.firewall.unit)}
  quiet systemctl daemon-reload
fi
rm -f ${hostPath(NETWORK_PATHS.firewall.undo)}
if has nft; then quiet nft delete table ${NFT_TABLE}; fi
if [ -e ${hostPath(NETWORK_PATHS.sshd)} ]; then
  changed=true
  rm -f ${hostPath(NETWORK_PATHS.sshd)}
  quiet systemctl reload ssh
  quiet systemctl reload sshd
fi`;

const BALANCING = `
for unit in ${[...BALANCER.units, ...ADDRESSES.units, TUNNEL_CLIENT.unit, TUNNEL_CLIENT.servicesUnit].join(' ')}; do
  if [ -e "$root/etc/systemd/system/$unit" ]; then
    changed=true
    quiet systemctl disable --now "$unit"
    rm -f "$root/etc/systemd/system/$unit"
    quiet systemctl daemon-reload
  fi
done
rm -rf ${hostPath(TUNNEL_CLIENT.folder)}`;

const ETCD = `
if [ -e "$root/etc/systemd/system/${EXTERNAL_ETCD.unit}" ]; then
  changed=true
  quiet systemctl disable --now ${EXTERNAL_ETCD.unit}
  rm -f "$root/etc/systemd/system/${EXTERNAL_ETCD.unit}"
  quiet systemctl daemon-reload
fi
for folder in ${[EXTERNAL_ETCD.pki, EXTERNAL_ETCD.client, EXTERNAL_ETCD.programs].map(hostPath).join(' ')}; do hollow "$folder"; done`;

/**
 * State of the container runtime and the kernel exists only on real hosts: a simulated host has none, and must not
 * touch this machine's.
 */
const KERNEL = `
if [ -z "$root" ]; then
  for container in $(tasks tasks); do
    changed=true
    quiet timeout 20 ctr --namespace k8s.io tasks delete --force "$container"
  done
  for container in $(tasks containers); do
    quiet timeout 20 ctr --namespace k8s.io containers delete "$container"
  done
  for mount in $(mounts_below "$root/var/lib/kubelet") $(mounts_below "$root/run/cilium") $(mounts_below "$root/run/netns" | grep /cni- || true); do
    changed=true
    quiet umount -l "$mount"
  done
  rm -f "$root"/run/netns/cni-* 2>/dev/null || true

  # Routes to the pods of other nodes, where a plugin makes some in the main table.
  pods=$(sed -n 's/^FLANNEL_NETWORK=//p' "$root/run/flannel/subnet.env" 2>/dev/null || true)
  if [ -n "$pods" ]; then
    ip route show root "$pods" 2>/dev/null | while read -r route; do
      # shellcheck disable=SC2086 # The words of a route are arguments.
      quiet ip route delete $route
    done
  fi
  for device in $(devices); do
    changed=true
    quiet ip link delete "$device"
  done
fi

for kind in iptables ip6tables iptables-legacy ip6tables-legacy; do
  if has "$kind-save" && has "$kind-restore" && "$kind-save" 2>/dev/null | grep -qE '${RULES}'; then
    changed=true
    "$kind-save" 2>/dev/null | grep -vE '${RULES}' | "$kind-restore" >>"$log" 2>&1 || true
  fi
done
if has nft; then
  tables | while read -r table; do
    # shellcheck disable=SC2086 # Family and name are two arguments.
    quiet nft delete table $table
  done
fi
# iptables makes its tables when it is used first; those of which nothing is left do nothing.
if has nft; then
  for family in ip ip6; do
    for table in filter nat mangle; do
      if nft list table "$family" "$table" >/dev/null 2>&1 &&
        ! nft list table "$family" "$table" | grep -qvE '^(table .*[{]|[[:space:]]*chain [A-Z]+ [{]|[[:space:]]*type .* policy accept;|[[:space:]]*[}]|[[:space:]]*|# .*)$'; then
        quiet nft delete table "$family" "$table"
      fi
    done
  done
fi
if [ -z "$root" ]; then
  if has ipvsadm; then quiet ipvsadm --clear; fi
  if has ipset; then
    for set in $(ipset list -name 2>/dev/null | grep -E '^(KUBE-|cali)' || true); do quiet ipset destroy "$set"; done
  fi
fi`;

const FILES = `
for folder in ${FOLDERS.join(' ')}; do
  hollow "$root/$folder"
done
# Cilium's maps outlive its agent while a file names them; those of its tc programs lie among others'.
rm -rf "$root"/sys/fs/bpf/tc/globals/cilium_* 2>>"$log" || true
# The container runtime watches this one: were it removed, the next network would go unseen until a restart of the runtime.
${emptyFolder('/etc/cni/net.d')}
if grep -q '# fairlead$' "$root/etc/hosts" 2>/dev/null; then
  # Written in place: it may be a mount.
  others=$(grep -v '# fairlead$' "$root/etc/hosts" || true)
  if [ -n "$others" ]; then printf '%s\\n' "$others" >"$root/etc/hosts"; else rm -f "$root/etc/hosts" 2>/dev/null || : >"$root/etc/hosts"; fi
fi`;

const VERIFIED = `
left=''
remains() {
  left="$left\${left:+,}$(json_text "$1")"
}
for folder in etc/kubernetes var/lib/etcd etc/fairlead/etcd etc/cni/net.d var/lib/kubelet run/cilium sys/fs/bpf/cilium; do
  if [ -n "$(find "$root/$folder" -mindepth 1 -print -quit 2>/dev/null)" ]; then remains "there are files in /$folder"; fi
done
if [ -z "$root" ]; then
  for unit in kubelet.service fairlead-agent.service ${EXTERNAL_ETCD.unit} ${BALANCER.units.join(' ')} ${TUNNEL_CLIENT.unit} ${TUNNEL_CLIENT.servicesUnit}; do
    if systemctl is-active --quiet "$unit" 2>/dev/null; then remains "$unit runs"; fi
  done
  for container in $(tasks tasks); do remains "container $container runs"; done
  for mount in $(mounts_below "$root/var/lib/kubelet"); do remains "$mount is mounted"; done
  for device in $(devices); do remains "there is the interface $device"; done
  for kind in iptables ip6tables iptables-legacy ip6tables-legacy; do
    if has "$kind-save" && "$kind-save" 2>/dev/null | grep -qE '${RULES}'; then remains "there are rules of Kubernetes in $kind"; fi
  done
  if has nft && [ -n "$(tables)" ]; then remains "there are nftables tables of Kubernetes: $(tables | tr '\\n' ' ')"; fi
  if has ss; then
    for port in ${PORTS.join(' ')}; do
      if [ -n "$(ss -Htln "sport = :$port" 2>/dev/null)" ]; then remains "somebody listens on port $port"; fi
    done
  fi
fi`;

const RESULT = `result "{\\"changed\\":$changed,\\"left\\":[$left]}"`;

/**
 * Resets the host to a state in which it can be used again, and checks the result. Clean parts are not touched;
 * software and images are kept, unless the host is wiped. It does not contact the cluster, which may be gone: its etcd
 * member is removed through a survivor before.
 */
export const kubeadmResetScript = ({ removeAgent, of, wipe }: KubeadmResetInput): HostScript =>
  script(
    { step: 'kubeadm-reset', limitSeconds: 300, lockSeconds: 120 },
    `
changed=false
${LOOKS.trim()}

# A reset that comes late must not take the host from its next cluster.
if [ -e ${hostPath(AGENT_PATHS.config)} ] && ! grep -qF ${quote(`"uid": "${of}"`)} ${hostPath(AGENT_PATHS.config)}; then
  fail 'this host belongs to another cluster by now: it is left alone'
fi
${removeAgent ? `${AGENT}${NETWORK}` : ''}
${BALANCING}
${ETCD}
if [ -e "$root/etc/kubernetes/kubelet.conf" ] || [ -e "$root/etc/kubernetes/admin.conf" ] || [ -d "$root/var/lib/etcd/member" ]; then
  changed=true
  quiet systemctl stop kubelet.service
  if has kubeadm; then
    quiet timeout 120 kubeadm reset --force --skip-phases=remove-etcd-member --cri-socket ${CRI_SOCKET}
  fi
fi
${KERNEL}
${removeAgent ? unloadModules : ''}
${FILES}
${wipe === undefined ? '' : `${BASELINE}${wiping(wipe)}`}${VERIFIED}
${wipe === undefined ? '' : wiped(wipe)}${RESULT}
`,
  );
