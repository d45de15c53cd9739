import { AGENT_PATHS } from '@fairlead/contracts';
import { hostPath } from '../shell/quote.js';

/** Files that nodes replace, relative to the root. */
const FILES = ['etc/hostname', 'etc/containerd/config.toml'];

/** Kernel settings that the agent, kubelets, kube-proxy and network plugins change, below /proc/sys. */
const SETTINGS = [
  'net/ipv4/ip_forward',
  'net/ipv6/conf/all/forwarding',
  'net/ipv4/conf/all/route_localnet',
  'net/bridge/bridge-nf-call-iptables',
  'net/bridge/bridge-nf-call-ip6tables',
  'net/netfilter/nf_conntrack_max',
  'net/netfilter/nf_conntrack_tcp_timeout_established',
  'net/netfilter/nf_conntrack_tcp_timeout_close_wait',
  'net/netfilter/nf_conntrack_tcp_be_liberal',
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
];

/** Packages that the agent puts on hold, so that nothing else changes their versions. */
export const PACKAGES =
  'kubeadm kubelet kubectl kubernetes-cni cri-tools containerd containerd.io runc haproxy keepalived';

/** Those on hold by now. dpkg keeps that by itself, and can be asked of a folder as well. */
const HOLDS = `
dpkg_here() { if command -v dpkg >/dev/null 2>&1; then dpkg \${root:+"--root=$root"} "$@" 2>/dev/null; fi; }
on_hold() { dpkg_here --get-selections | awk '$2 == "hold" { print $1 }'; }`;

/** How swapItem of the agent marks the lines of /etc/fstab that it takes out. */
const SWAP_OFF = 's/^# \\(.*\\) # fairlead: swap off$/\\1/';

/** Modules that the agent, kube-proxy and network plugins load, each after those that need it. */
const MODULES = 'ip_vs_sh ip_vs_wrr ip_vs_rr ip_vs vxlan ipip wireguard br_netfilter overlay';

/** Keeps what the agent is about to change, once: a host that has an agent already is no longer as it was. */
export const rememberHost = `${HOLDS}
before=${hostPath(AGENT_PATHS.before)}
if [ ! -e "$before" ] && [ ! -e ${hostPath(AGENT_PATHS.config)} ]; then
  rm -rf "$before.new"
  mkdir -p "$before.new"
  for file in ${FILES.join(' ')}; do
    if [ -e "$root/$file" ]; then
      mkdir -p "$before.new/$(dirname "$file")"
      cp -p "$root/$file" "$before.new/$file"
    fi
  done
  for setting in ${SETTINGS.join(' ')}; do
    if [ -r "$root/proc/sys/$setting" ]; then printf '%s %s\\n' "$setting" "$(cat "$root/proc/sys/$setting")"; fi
  done >"$before.new/settings"
  cat "$root/proc/sys/kernel/hostname" >"$before.new/name" 2>/dev/null || true
  on_hold >"$before.new/holds" || true
  cut -d ' ' -f 1 "$root/proc/modules" >"$before.new/modules" 2>/dev/null || true
  cat "$root/proc/swaps" >"$before.new/swaps" 2>/dev/null || true
  mv "$before.new" "$before"
fi`;

/** Puts back what rememberHost kept, after the agent has stopped; it can be repeated. A host from before this is left as it is. */
export const restoreHost = `${HOLDS}
before=${hostPath(AGENT_PATHS.before)}
if [ -d "$before" ]; then
  changed=true
  for file in ${FILES.join(' ')}; do
    if [ -e "$before/$file" ]; then
      mkdir -p "$root/$(dirname "$file")"
      cp -p "$before/$file" "$root/$file" 2>>"$log" || true
    else
      rm -f "$root/$file"
    fi
  done
  while read -r setting value; do
    now=$(cat "$root/proc/sys/$setting" 2>/dev/null || printf '%s' "$value")
    # The kernel may not let it be set from here, as in a container.
    if [ "$now" != "$value" ]; then printf '%s\\n' "$value" 2>>"$log" >"$root/proc/sys/$setting" || true; fi
  done <"$before/settings"
  if [ -e "$before/holds" ]; then
    on_hold >"$before/holds.now" || true
    for package in ${PACKAGES}; do
      if grep -qxF "$package" "$before/holds"; then
        printf '%s hold\\n' "$package"
      elif grep -qxF "$package" "$before/holds.now"; then
        printf '%s install\\n' "$package"
      fi
    done | dpkg_here --set-selections >>"$log" || true
  fi
  name=$(cat "$before/name" 2>/dev/null || true)
  if [ -z "$root" ] && [ -n "$name" ] && [ "$name" != "$(cat "$root/proc/sys/kernel/hostname")" ]; then
    quiet hostname "$name"
  fi
fi
if [ -s "$before/swaps" ] && has swapon; then
  awk 'NR > 1 { print $1, $5 }' "$before/swaps" | while read -r swap priority; do
    if ! awk '{ print $1 }' "$root/proc/swaps" | grep -qxF "$swap"; then
      # The kernel's own priorities are negative, and cannot be asked for.
      if [ "$priority" -lt 0 ]; then quiet swapon "$swap"; else quiet swapon -p "$priority" "$swap"; fi
    fi
  done
fi
if grep -q '# fairlead: swap off$' "$root/etc/fstab" 2>/dev/null; then
  changed=true
  sed -i '${SWAP_OFF}' "$root/etc/fstab"
  # What was on is not known of a host from before that was kept.
  if [ ! -s "$before/swaps" ] && has swapon; then quiet swapon -a; fi
fi
loaded=''
if [ -s "$before/modules" ] && has rmmod; then
  for module in ${MODULES}; do
    if ! grep -qxF "$module" "$before/modules" && grep -q "^$module " "$root/proc/modules"; then loaded="$loaded $module"; fi
  done
fi`;

/** Once nothing of a node uses them; modules that something else has come to use stay. */
export const unloadModules = `
for module in \${loaded:-}; do quiet rmmod "$module"; done`;
