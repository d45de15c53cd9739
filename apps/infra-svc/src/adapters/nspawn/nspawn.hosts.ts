import type { HostProfile, MachineSpec } from '@fairlead/contracts';

/** The machine sizes of local hosts. They are upper limits; unused resources are available to other hosts. */
export const SPECS: readonly MachineSpec[] = [
  { name: 'nspawn.small', cpuCount: 1, memoryGiB: 2, cpuClockGHz: null },
  { name: 'nspawn.medium', cpuCount: 2, memoryGiB: 4, cpuClockGHz: null },
  { name: 'nspawn.large', cpuCount: 4, memoryGiB: 8, cpuClockGHz: null },
];

/** Where the mirror of Kubernetes' own files and Node.js are mounted on hosts. */
export const MIRROR_AT = '/opt/fairlead/mirror';
const NODE_AT = '/opt/fairlead/node';

/**
 * Settings for a host that shares its kernel. kubeadm's SystemVerification checks the kernel's configuration, and
 * connection tracking and swap are kernel-wide too; all of them belong to the machine. Images come from the mirror,
 * because no registry is reachable.
 */
export const profileOf = (isUnified: boolean, override: HostProfile | undefined): HostProfile => ({
  // A folder of this machine, mounted read-only: whoever can change it already administers the machine.
  source: { kind: 'files', location: MIRROR_AT, unsigned: true },
  nodeBinary: NODE_AT,
  cgroupDriver: isUnified ? 'systemd' : 'cgroupfs',
  failSwapOn: false,
  kubeProxyMode: 'nftables',
  tuneConntrack: false,
  imagePullPolicy: 'Never',
  resolvConf: '/etc/resolv.conf',
  ignorePreflightErrors: ['SystemVerification'],
  ...(isUnified ? {} : { failCgroupV1: false }),
  ...override,
});
