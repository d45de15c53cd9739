import * as z from 'zod';

/** What a host is, for as long as it exists. Written once, before anything of it is made. */
export const HostRecord = z.strictObject({
  name: z.string(),
  /** Names its group, its devices and its folder in systemd's eyes; 10 characters, because a device's name has at most 15. */
  tag: z.string(),
  network: z.string(),
  address: z.string(),
  cpus: z.number().positive().nullable(),
  memoryMiB: z.int().positive().nullable(),
  /** Folders under the host's own file system, the uppermost first. */
  layers: z.array(z.string()),
  /** Folders of the machine that the host sees read-only: host path to machine path. */
  readOnly: z.record(z.string(), z.string()),
  hostKey: z.string(),
  machineId: z.string(),
  labels: z.record(z.string(), z.string()),
  createdAt: z.iso.datetime(),
});
export type HostRecord = z.infer<typeof HostRecord>;

/** What a host must have. off: it was switched off, by itself or by us. on: it runs, or must again as soon as someone looks. */
export type Power = 'on' | 'off';

/** Where everything of a host lies in its folder. */
export const HOST_FILES = {
  record: 'host.json',
  /** Whether all files of the host are there; before that nothing of it runs. */
  prepared: 'prepared',
  /** Whether it has ever answered. */
  reached: 'reached',
  power: 'power',
  bridge: 'bridge',
  keeper: 'keeper.sh',
  keeperIdentity: 'keeper.pid',
  bootIdentity: 'boot.pid',
  boots: 'boots',
  ended: 'ended',
  /** systemd-nspawn's own lock, by device and inode of the host's root, which only its keeper sees. */
  nspawnLock: 'nspawn.lock',
  console: 'console.log',
  upper: 'upper',
  work: 'work',
  root: 'root',
  state: 'state',
} as const;

/** Folders that must not lie on an overlay: container runtimes lay overlays of their own there, and etcd syncs each write. */
export const STATE_FOLDERS = ['containerd', 'kubelet', 'etcd'] as const;
