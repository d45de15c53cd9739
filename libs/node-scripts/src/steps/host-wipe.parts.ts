import { AGENT_PATHS, HOST_BASELINE, type HostBaseline } from '@fairlead/contracts';
import { hostPath, quote } from '../shell/quote.js';
import { PACKAGES } from './host-before.parts.js';

export interface Wipe {
  /** State of the host when it was allocated; null: unknown, and not compared. */
  readonly baseline: HostBaseline | null;
  /** The agent's runtime is the host's own: it is kept and compared. Otherwise it is removed. */
  readonly keepRuntime: boolean;
}

const PARTS = Object.keys(HOST_BASELINE) as (keyof HostBaseline)[];

/**
 * One digest per part of a host through which its previous user could regain access. Excludes what packages and
 * Fairlead change while the host is a node: links that enable units, accounts that cannot log in, Fairlead's own units.
 */
export const BASELINE = `
entries() {
  find "$@" \\( -type f -o -type l \\) -print 2>/dev/null | LC_ALL=C sort | while IFS= read -r file; do
    if [ -L "$file" ]; then
      printf '%s -> %s\\n' "\${file#"$root"}" "$(readlink "$file")"
    else
      printf '%s %s\\n' "\${file#"$root"}" "$(sha256sum <"$file" | cut -c 1-64)"
    fi
  done
}

homes() {
  printf '%s\\n' /root
  cut -d : -f 6 "$root/etc/passwd" 2>/dev/null || true
}

accounts() {
  awk -F : '$3 == 0 || $7 !~ /(nologin|false|sync)$/ { print $1 ":" $3 ":" $6 ":" $7 }' "$root/etc/passwd" 2>/dev/null || true
  awk -F : '$2 !~ /^[!*]/ { print $1 ":" $2 }' "$root/etc/shadow" 2>/dev/null || true
}

part() {
  case $1 in
    sshKeys) homes | LC_ALL=C sort -u | while IFS= read -r home; do
      entries "$root\${home%/}/.ssh" | grep -E '/\\.ssh/(authorized_keys[^/ ]*|rc|environment) ' || true
    done ;;
    sshServer) entries "$root/etc/ssh" ;;
    accounts)
      accounts
      entries "$root/etc/sudoers" "$root/etc/sudoers.d" "$root/etc/pam.d"
      ;;
    jobs) entries "$root"/etc/cron* "$root/var/spool/cron" "$root/etc/rc.local" "$root/etc/ld.so.preload" ;;
    units) entries "$root/etc/systemd/system" | grep -v ' -> ' | grep -v '^/etc/systemd/system/fairlead-' || true ;;
    settings) entries "$root/etc/hostname" "$root/etc/fstab" "$root/etc/containerd" ;;
    runtime) if [ -f ${hostPath(AGENT_PATHS.node)} ] && [ ! -L ${hostPath(AGENT_PATHS.node)} ]; then cat ${hostPath(AGENT_PATHS.node)}; fi ;;
  esac
}

digest() { part "$1" | sha256sum | cut -c 1-32; }
`;

/** The baseline as a JSON object. */
export const BASELINE_JSON = `{${PARTS.map((name) => `\\"${name}\\":\\"$(digest ${name})\\"`).join(',')}}`;

/** Folders with data of a cluster that others must not see; the runtime is stopped meanwhile. */
const EMPTIED = ['var/lib/containerd', 'run/containerd', 'var/log/pods', 'var/log/containers'];

/** Programs that the agent installs without a package; it installs them again for the next cluster. */
const PROGRAMS = 'usr/bin/kubeadm usr/bin/kubelet usr/bin/kubectl usr/local/bin/etcdctl opt/cni/bin/*';

const SETTINGS = [
  '/etc/sysctl.d/99-fairlead.conf',
  '/etc/modules-load.d/fairlead.conf',
  '/etc/apt/sources.list.d/fairlead.list',
  '/etc/systemd/system/containerd.service.d/fairlead-proxy.conf',
];

/**
 * Removes what a reset keeps for the next node of the same cluster: images, the runtime's state, logs, steps, programs.
 */
export const wipe = ({ keepRuntime }: Wipe): string => `
# A mount that could not be taken away is left alone, and reported.
empty() {
  if [ -d "$1" ]; then find "$1" -xdev -mindepth 1 -delete >>"$log" 2>&1 || true; fi
}
runtime=''
if [ -z "$root" ]; then
  if systemctl is-active --quiet containerd.service 2>/dev/null; then runtime=active; fi
  quiet systemctl stop containerd.service
  for mount in $(mounts_below "$root/run/containerd") $(mounts_below "$root/var/lib/containerd"); do
    quiet umount -l "$mount"
  done
fi
for folder in ${EMPTIED.join(' ')}; do empty "$root/$folder"; done
find "$root/var/log/fairlead" "$root/run/fairlead" -xdev -mindepth 1 ! -path "$log" ! -name 'step.lock*' ! -path '*/step.lock.d/*' -delete 2>/dev/null || true
# Steps that were cut short have left their parameters. Looks have none, and may be under way.
find ${hostPath(AGENT_PATHS.steps)} -mindepth 1 -maxdepth 1 ! -name 'look-*' -exec rm -rf {} + 2>/dev/null || true
# sudo begins in the home of the user who came. Uploads wait there; earlier releases left steps there, too.
home_steps=\${SUDO_USER:+.fairlead/steps}
if [ -n "$home_steps" ]; then
  rm -rf "$home_steps"
  find .fairlead -mindepth 1 -maxdepth 1 -type f -delete 2>/dev/null || true
fi
rm -rf "$root/root/.kube" "$root"/usr/bin/.fairlead-* "$root"/opt/cni/.fairlead-* ${SETTINGS.map(hostPath).join(' ')}

owned() { [ -z "$root" ] && has dpkg-query && dpkg-query -S "$1" >/dev/null 2>&1; }
for program in ${PROGRAMS.split(' ')
  .map((path) => `"$root"/${path}`)
  .join(' ')}; do
  if [ -e "$program" ] || [ -L "$program" ]; then
    owned "\${program#"$root"}" || rm -rf "$program"
  fi
done
for unit in "$root"/etc/systemd/system/kubelet.service "$root"/etc/systemd/system/kubelet.service.d/*; do
  if [ -f "$unit" ] && grep -q '^# Written by Fairlead[.]$' "$unit"; then
    if [ "\${unit##*/}" = kubelet.service ]; then quiet systemctl disable kubelet.service; fi
    rm -f "$unit"
  fi
done
rmdir "$root/etc/systemd/system/kubelet.service.d" 2>/dev/null || true
if [ -z "$root" ]; then quiet systemctl daemon-reload; fi
rm -f ${[AGENT_PATHS.nodeArchive, ...(keepRuntime ? [] : [AGENT_PATHS.node])].map(hostPath).join(' ')}
`;

/**
 * Checks that everything is removed, and that the rest is as it was when the host was allocated. `remains` receives the
 * differences.
 */
export const wiped = ({ baseline, keepRuntime }: Wipe): string => `
for folder in ${EMPTIED.join(' ')}; do
  if [ -n "$(find "$root/$folder" -mindepth 1 -print -quit 2>/dev/null)" ]; then remains "there are files in /$folder"; fi
done
if [ "$runtime" = active ]; then systemctl start containerd.service >>"$log" 2>&1 9>&- || remains 'containerd does not start'; fi
for path in root/.kube ${SETTINGS.map((path) => path.slice(1)).join(' ')}; do
  if [ -e "$root/$path" ]; then remains "there is /$path"; fi
done
if [ -n "$(find ${hostPath(AGENT_PATHS.steps)} \${home_steps:+"$home_steps"} -mindepth 1 ! -name 'look-*' -print -quit 2>/dev/null)" ]; then
  remains 'there are steps of a cluster'
fi
if [ -z "$root" ] && has dpkg; then
  for package in ${PACKAGES}; do
    for file in $(dpkg --verify "$package" 2>/dev/null | awk '/^..5/ && $2 != "c" { print $NF }'); do
      remains "$file is not as its package $package brought it"
    done
  done
fi
${baseline === null ? '' : compared(baseline, keepRuntime)}
if [ -z "$left" ]; then rm -f "$log"; fi
`;

const compared = (baseline: HostBaseline, keepRuntime: boolean): string =>
  PARTS.filter((name) => keepRuntime || name !== 'runtime')
    .flatMap((name) => {
      const expected = baseline[name];
      const words = `${HOST_BASELINE[name]} are not as when the host was taken`;
      return expected === undefined ? [] : [`[ "$(digest ${name})" = ${expected} ] || remains ${quote(words)}`];
    })
    .join('\n');
