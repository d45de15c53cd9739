/** Operating systems of hosts, by ID-VERSION_ID of their /etc/os-release. To add another Debian, add a line. */
export const HOST_SYSTEMS = {
  'debian-13': { suite: 'trixie', title: 'Debian 13 (trixie)' },
  'debian-12': { suite: 'bookworm', title: 'Debian 12 (bookworm)' },
} as const;
export type HostSystem = keyof typeof HOST_SYSTEMS;
export const DEFAULT_SYSTEM: HostSystem = 'debian-13';

/**
 * The content of every host's root file system: a Debian server with Kubernetes' requirements for a node, and nothing
 * of Kubernetes itself. It contains no key and no identity: those are added to each host when it is created.
 */
const RECIPE = {
  packages: [
    'systemd',
    'systemd-sysv',
    'dbus',
    'udev',
    'kmod',
    'procps',
    'iproute2',
    'iputils-ping',
    'netbase',
    'openssh-server',
    'sudo',
    'ca-certificates',
    'curl',
    'less',
    'mount',
    'util-linux',
    'e2fsprogs',
    'containerd',
    'runc',
    'conntrack',
    'ebtables',
    'ethtool',
    'ipset',
    'iptables',
    'nftables',
    'socat',
    'haproxy',
    'keepalived',
    'libstdc++6',
  ],
} as const;

/** The ordinary user of every host, with passwordless `sudo -n`. */
export const SUDO_USER = { name: 'ops', id: 1000 } as const;

/**
 * Keys that a kubelet, or host preparation, sets for the whole kernel: each host gets a private file in their place.
 */
const KERNEL_WIDE_KEYS = [
  'kernel/keys/root_maxbytes',
  'kernel/keys/root_maxkeys',
  'kernel/panic',
  'kernel/panic_on_oops',
  'net/netfilter/nf_conntrack_max',
  'vm/max_map_count',
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'vm/swappiness',
] as const;

/**
 * Runs in each host before anything else of Fairlead. systemd-nspawn mounts the cgroup v1 controllers read-only, but a
 * kubelet must create groups. Everything below /proc/sys except the network's is read-only, so that no host changes its
 * machine; files that must look writable are replaced.
 */
const MACHINE_GUARD = `#!/bin/sh
for controller in /sys/fs/cgroup/*/; do
  mount -o remount,bind,rw "$controller" 2>/dev/null
done
mount --make-rshared /
mkdir -p /run/machine-guard
for key in ${KERNEL_WIDE_KEYS.join(' ')}; do
  [ -e "/proc/sys/$key" ] || continue
  file=/run/machine-guard/$(echo "$key" | tr / .)
  cat "/proc/sys/$key" >"$file" && mount --bind "$file" "/proc/sys/$key"
done
# The machine's swap is not this host's.
head -n 1 /proc/swaps >/run/machine-guard/swaps && mount --bind /run/machine-guard/swaps /proc/swaps
exit 0
`;

const MACHINE_GUARD_UNIT = `[Unit]
Description=Keep this host's settings from the machine that it runs on
DefaultDependencies=no
Before=sysinit.target containerd.service
ConditionVirtualization=container

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/machine-guard

[Install]
WantedBy=sysinit.target
`;

const ENABLED = ['systemd-networkd', 'ssh', 'containerd', 'machine-guard'];
/** Node preparation starts these after configuring them. */
const DISABLED = ['haproxy', 'keepalived'];
const MASKED = [
  'apt-daily.timer',
  'apt-daily-upgrade.timer',
  'dpkg-db-backup.timer',
  'e2scrub_all.timer',
  'e2scrub_reap.service',
  'fstrim.timer',
  'systemd-networkd-wait-online.service',
];

/** Modifies the unpacked packages: a script for mmdebstrap with the root as its first argument. */
export const customizeScript = (): string => `#!/bin/sh
set -eu
root=$1
chroot "$root" useradd --create-home --uid ${SUDO_USER.id} --shell /bin/bash --groups sudo --password '*' ${SUDO_USER.name}
install -d -m 700 -o ${SUDO_USER.id} -g ${SUDO_USER.id} "$root/home/${SUDO_USER.name}/.ssh"
install -d -m 700 "$root/root/.ssh"
printf '%s ALL=(ALL) NOPASSWD: ALL\\n' ${SUDO_USER.name} >"$root/etc/sudoers.d/${SUDO_USER.name}"
chmod 440 "$root/etc/sudoers.d/${SUDO_USER.name}"
cat >"$root/usr/local/sbin/machine-guard" <<'MACHINE_GUARD'
${MACHINE_GUARD}MACHINE_GUARD
chmod 755 "$root/usr/local/sbin/machine-guard"
cat >"$root/etc/systemd/system/machine-guard.service" <<'MACHINE_GUARD_UNIT'
${MACHINE_GUARD_UNIT}MACHINE_GUARD_UNIT
systemctl --root="$root" --quiet enable ${ENABLED.join(' ')}
systemctl --root="$root" --quiet disable ${DISABLED.join(' ')}
systemctl --root="$root" --quiet mask ${MASKED.join(' ')}
# What tells hosts apart is made for each of them.
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/hostname" "$root/etc/resolv.conf"
: >"$root/etc/machine-id"
: >"$root/etc/fstab"
rm -rf "$root"/var/lib/containerd "$root"/var/cache/apt/archives "$root"/var/lib/apt/lists
mkdir -p "$root/opt/fairlead" "$root/var/lib/containerd" "$root/var/lib/apt/lists/partial" "$root/var/cache/apt/archives/partial"
`;

/** Documentation and translations are a third of the size, and unused there. */
const LEFT_OUT = ['/usr/share/man/*', '/usr/share/doc/*', '/usr/share/locale/*', '/usr/share/info/*'];

/** mmdebstrap's arguments; the customize script is in a file, because it interprets hooks as shell. */
export const mmdebstrapArguments = (
  system: HostSystem,
  into: string,
  customizeFile: string,
  mirrors: readonly string[],
): string[] => [
  '--mode=root',
  '--variant=minbase',
  '--format=directory',
  `--include=${RECIPE.packages.join(',')}`,
  '--aptopt=Acquire::Languages "none"',
  '--aptopt=Acquire::Retries "3"',
  '--aptopt=Apt::Install-Recommends "false"',
  ...LEFT_OUT.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
  `--customize-hook=${customizeFile}`,
  HOST_SYSTEMS[system].suite,
  into,
  ...mirrors,
];

/** Everything that determines the result, except changes in Debian: equal recipes share a root file system. */
export const recipeText = (system: HostSystem): string =>
  JSON.stringify({
    suite: HOST_SYSTEMS[system].suite,
    ...RECIPE,
    customize: customizeScript(),
    arguments: mmdebstrapArguments(system, '', '', []),
  });
