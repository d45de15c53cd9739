import type { HostProfile, MachineSpec } from '@fairlead/contracts';

/** The machine sizes of local hosts. They are limits: what a host does not use, others may. */
export const SPECS: readonly MachineSpec[] = [
  { name: 'nspawn.small', cpuCount: 1, memoryGiB: 2, cpuClockGHz: null },
  { name: 'nspawn.medium', cpuCount: 2, memoryGiB: 4, cpuClockGHz: null },
  { name: 'nspawn.large', cpuCount: 4, memoryGiB: 8, cpuClockGHz: null },
];

/** Where hosts see the mirror of Kubernetes' own files, and our own Node. */
export const MIRROR_AT = '/opt/fairlead/mirror';
const NODE_AT = '/opt/fairlead/node';

/**
 * What differs on a host that shares its kernel. kubeadm's SystemVerification looks for the kernel's configuration, which is the machine's;
 * connection tracking and swap are the machine's, too. Images come from the mirror: no registry can be reached.
 */
export const profileOf = (isUnified: boolean, override: HostProfile | undefined): HostProfile => ({
  // A folder of this machine that hosts see read-only: whoever can change it administers the machine.
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
