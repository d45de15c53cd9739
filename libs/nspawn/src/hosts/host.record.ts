import * as z from 'zod';

/** A host's permanent properties. Written once, before anything of it is created. */
export const HostRecord = z.strictObject({
  name: z.string(),
  /**
   * Part of the names of its group, its devices and its systemd machine; 10 characters, because a device's name has at
   * most 15.
   */
  tag: z.string(),
  network: z.string(),
  address: z.string(),
  cpus: z.number().positive().nullable(),
  memoryMiB: z.int().positive().nullable(),
  /** Folders below the host's own file system, uppermost first. */
  layers: z.array(z.string()),
  /** Folders of the machine that are mounted read-only: host path to machine path. */
  readOnly: z.record(z.string(), z.string()),
  hostKey: z.string(),
  machineId: z.string(),
  labels: z.record(z.string(), z.string()),
  createdAt: z.iso.datetime(),
});
export type HostRecord = z.infer<typeof HostRecord>;

/**
 * The desired power state. off: it was switched off, by itself or by us. on: it is running, or will be started again at
 * the next check.
 */
export type Power = 'on' | 'off';

/** Files in a host's folder. */
export const HOST_FILES = {
  record: 'host.json',
  /** Exists once all files of the host are complete; nothing of it runs before. */
  prepared: 'prepared',
  /** Exists once it has answered. */
  reached: 'reached',
  power: 'power',
  bridge: 'bridge',
  keeper: 'keeper.sh',
  keeperIdentity: 'keeper.pid',
  bootIdentity: 'boot.pid',
  boots: 'boots',
  ended: 'ended',
  /** systemd-nspawn's own lock, by device and inode of the host's root, which only its keeper can determine. */
  nspawnLock: 'nspawn.lock',
  console: 'console.log',
  upper: 'upper',
  work: 'work',
  root: 'root',
  state: 'state',
} as const;

/**
 * Folders that must not be on an overlay: container runtimes mount their own overlays there, and etcd syncs each write.
 */
export const STATE_FOLDERS = ['containerd', 'kubelet', 'etcd'] as const;
