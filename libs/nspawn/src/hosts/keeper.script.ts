import { quote } from '@fairlead/node-scripts';
import { IDENTITY_FUNCTION } from '../machine/keeper.parts.js';
import { HOST_FILES, STATE_FOLDERS, type HostRecord } from './host.record.js';

/** systemd-nspawn's locks for running folders; it does not remove them when it is killed. */
export const NSPAWN_LOCKS = '/run/systemd/nspawn/locks';
/** Exit code of systemd-nspawn after its payload requested a reboot (systemd-nspawn(1), --keep-unit). */
const REBOOT_CODE = 133;
const CPU_PERIOD_US = 100_000;
const BYTES_PER_MIB = 1_048_576;
/** Minimum delay between reboots, so that a host in a reboot loop does not saturate the machine. */
const REBOOT_PAUSE_SECONDS = 0.2;
const GROUP_TRIES_MAX = 100;
const LOCK_WAIT_SECONDS = 10;

/**
 * Capabilities withheld from hosts, although they are privileged in their own namespaces, because no node software
 * needs them: setting the machine's clock or waking it, loading modules, accessing hardware ports and memory, switching
 * process accounting, reading the audit log, blocking suspend, changing policies of security modules, and restoring
 * processes from images. Node software may use all others; systemd-nspawn's filter blocks swapon, kexec and the like.
 * This does not make hosts a security boundary: root of a host can still create device nodes.
 */
export const WITHHELD = [
  'sys_time',
  'sys_module',
  'sys_rawio',
  'sys_pacct',
  'mac_admin',
  'mac_override',
  'wake_alarm',
  'block_suspend',
  'audit_read',
  'checkpoint_restore',
] as const;
const CAPABILITIES = [
  '--capability=all',
  `--drop-capability=${WITHHELD.map((name) => `CAP_${name.toUpperCase()}`).join(',')}`,
];
const CALLS = 'bpf perf_event_open @keyring';

/** systemd-nspawn's name for the bridge's end of a host's cable. */
export const portOf = (tag: string): string => `vb-${tag}`;

/** The command line that boots a host; `bridge` is only known at boot time. */
const nspawnArguments = ({ name, tag, readOnly, machineId }: HostRecord, folder: string): readonly string[] => [
  '--quiet',
  `--directory=${folder}/${HOST_FILES.root}`,
  `--machine=${tag}`,
  `--hostname=${name}`,
  `--uuid=${machineId}`,
  '--boot',
  '--register=no',
  '--keep-unit',
  '--private-users=no',
  ...CAPABILITIES,
  `--system-call-filter=${CALLS}`,
  '--link-journal=no',
  '--resolv-conf=off',
  '--timezone=off',
  ...STATE_FOLDERS.map((each) => `--bind=${folder}/${HOST_FILES.state}/${each}:/var/lib/${each}`),
  ...Object.entries(readOnly).map(([at, from]) => `--bind-ro=${from}:${at}`),
  '--bind=/dev/kmsg',
];

/**
 * Keeps one host: boots it, boots it again when it reboots itself, and ends when it is off. It is the only other
 * process of a host, has no parent process, and is found again by what it records; a second one for the same host
 * exits. The host's file system is mounted only in its namespace, so the mount disappears when it and the host have
 * ended. Arguments: the host's groups, one in each hierarchy.
 */
export const keeperScript = (host: HostRecord, folder: string, namespace: string): string => `#!/bin/sh
# Keeps the local host ${host.name}.
set -u
cd ${quote(folder)} || exit 1
exec 9>lock
# What an earlier keeper called may outlive it for a moment, and hold its lock as long.
flock --wait ${LOCK_WAIT_SECONDS} 9 || exit 0

${functions(host)}
mount -t overlay overlay -o ${quote(overlayOptions(host, folder))} ${HOST_FILES.root} || exit 1
stat --format='inode-%d:%i' ${HOST_FILES.root} >${HOST_FILES.nspawnLock}
identity $$ ${HOST_FILES.keeperIdentity}
rm -f ${HOST_FILES.ended}
child='' terminated=''
trap 'terminated=yes; [ -z "$child" ] || kill -TERM "$child"' TERM
while :; do
  drop_groups "$@"
  make_groups "$@"
  # The last boot's cable, where the kernel has not taken its namespace down yet.
  ip -n ${quote(namespace)} link delete ${portOf(host.tag)} 2>/dev/null
  (
    for group in "$@"; do echo 0 >"$group/cgroup.procs" || exit 1; done
    exec 9>&-
    exec setpriv --pdeathsig KILL nsenter ${quote(`--net=/run/netns/${namespace}`)} \\
      systemd-nspawn --network-bridge="$(cat ${HOST_FILES.bridge})" \\
${nspawnArguments(host, folder)
  .map((argument) => `      ${quote(argument)}`)
  .join(' \\\n')}
  ) &
  child=$!
  identity "$child" ${HOST_FILES.bootIdentity}
  echo boot >>${HOST_FILES.boots}
  # A signal ends the waiting, not the host.
  while :; do
    wait "$child"
    code=$?
    kill -0 "$child" 2>/dev/null || break
  done
  child=''
  { [ "$code" = ${REBOOT_CODE} ] && [ -z "$terminated" ]; } || break
  sleep ${REBOOT_PAUSE_SECONDS}
done
# Who switched itself off stays off; who was ended from outside may be desired again.
[ "$code" != 0 ] || [ -n "$terminated" ] || echo off >${HOST_FILES.power}
echo "$code" >${HOST_FILES.ended}
drop_groups "$@"
rm -f "${NSPAWN_LOCKS}/$(cat ${HOST_FILES.nspawnLock})" ${HOST_FILES.bootIdentity} ${HOST_FILES.keeperIdentity}
`;

/** Shell functions of every keeper. */
const functions = (host: HostRecord): string => `${IDENTITY_FUNCTION}
# Whatever is still in the groups belongs to an earlier boot: systemd-nspawn that is killed leaves its payload behind.
drop_groups() {
  tries=0
  for group in "$@"; do
    while [ -d "$group" ] && [ $tries -lt ${GROUP_TRIES_MAX} ]; do
      # shellcheck disable=SC2038 # These are numbers.
      find "$group" -name cgroup.procs -exec cat {} + 2>/dev/null | xargs -r kill -KILL 2>/dev/null
      find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
      [ -d "$group" ] || break
      tries=$((tries + 1))
      sleep 0.05
    done
  done
}

make_groups() {
  for group in "$@"; do
    mkdir -p "$group" || exit 1
    if [ -e "$group/cpuset.cpus" ] && [ -e "$group/cgroup.clone_children" ]; then
      cat "$(dirname "$group")/cpuset.cpus" >"$group/cpuset.cpus"
      cat "$(dirname "$group")/cpuset.mems" >"$group/cpuset.mems"
      echo 1 >"$group/cgroup.clone_children"
    fi
${limits(host)}  done
}
`;

const overlayOptions = ({ layers }: HostRecord, folder: string): string =>
  `lowerdir=${layers.join(':')},upperdir=${folder}/${HOST_FILES.upper},workdir=${folder}/${HOST_FILES.work}`;

/** Limits, if the machine has the controller, in the syntax of either version. */
const limits = ({ cpus, memoryMiB }: HostRecord): string => {
  const lines: string[] = [];
  if (memoryMiB !== null) {
    const bytes = memoryMiB * BYTES_PER_MIB;
    lines.push(...['memory.limit_in_bytes', 'memory.max'].map((file) => limit(file, String(bytes))));
  }
  if (cpus !== null) {
    const quota = Math.round(cpus * CPU_PERIOD_US);
    lines.push(limit('cpu.cfs_quota_us', String(quota)), limit('cpu.max', `${quota} ${CPU_PERIOD_US}`));
  }
  return lines.map((line) => `    ${line}\n`).join('');
};

const limit = (file: string, value: string): string => `[ ! -e "$group/${file}" ] || echo ${value} >"$group/${file}"`;
