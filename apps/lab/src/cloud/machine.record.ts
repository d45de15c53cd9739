import * as z from 'zod';
import { HostRecord } from '../hosts/host.record.js';

export const MachineStatus = z.enum(['creating', 'running', 'failed', 'stopped']);
export type MachineStatus = z.infer<typeof MachineStatus>;

const USER_DATA_LENGTH_MAX = 65_536;

/** One machine of a group request. */
export const MachineRequest = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/),
  spec: z.string().max(100),
  image: z.string().max(100),
  network: z.string().max(200),
  firewall: z.string().max(200),
  sshKey: z.string().max(200),
  rootDisk: z.json().optional(),
  zone: z.string().max(100).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  /** Runs at the first boot. */
  userData: z.string().max(USER_DATA_LENGTH_MAX).optional(),
  /** An existing machine that moves into the group under this name, with its former group. */
  adopts: z.strictObject({ id: z.string().max(100), group: z.string().max(200) }).optional(),
});
export type MachineRequest = z.infer<typeof MachineRequest>;

/** A machine as it is stored. */
export const MachineRecord = z.object({
  id: z.string(),
  group: z.string(),
  request: MachineRequest,
  zone: z.string(),
  region: z.string(),
  address: z.string(),
  hostKeyPem: z.string(),
  hostKey: z.string(),
  status: MachineStatus,
  message: z.string().optional(),
  host: HostRecord,
  /** Whether the host has ever booted. */
  booted: z.boolean(),
  partitioned: z.boolean(),
  /** Files of a light host at the time when the machine was last stored. */
  files: z.unknown().optional(),
});
export type MachineRecord = z.infer<typeof MachineRecord>;

/** A machine as the API shows it. */
export const machineView = (record: MachineRecord) => ({
  id: record.id,
  name: record.request.name,
  status: record.status,
  ...(record.message === undefined ? {} : { message: record.message }),
  publicIp: record.address,
  privateIp: record.address,
  sshPort: SSH_PORT,
  sshUser: SSH_USER,
  hostKey: record.hostKey,
  region: record.region,
  zone: record.zone,
  spec: record.request.spec,
  image: record.request.image,
  sshKey: record.request.sshKey,
  hasUserData: record.request.userData !== undefined,
});

/** Unprivileged users cannot bind port 22. */
export const SSH_PORT = 2222;
export const SSH_USER = 'root';
