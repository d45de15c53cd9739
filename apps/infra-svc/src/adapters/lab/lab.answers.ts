import { ReservedSizes } from '@fairlead/contracts';
import * as z from 'zod';

/** Responses of the lab's API; unknown fields are ignored. */
export const LabRegion = z.object({ name: z.string(), zones: z.array(z.string()) });

export const LabSpec = z.object({
  name: z.string(),
  cpuCount: z.int(),
  memoryGiB: z.number(),
  cpuClockGHz: z.number().nullish(),
});
export type LabSpec = z.infer<typeof LabSpec>;
export const LabSpecs = z.object({ items: z.array(LabSpec) });

export const LabImage = z.object({ name: z.string(), os: z.string() });
export const LabNetwork = z.object({ cidr: z.string(), subnet: z.string() });
export const LabSshKey = z.object({ publicKey: z.string() });
export const LabFirewall = z.object({ rules: z.array(z.unknown()) });
export const LabLoadBalancer = z.object({ name: z.string(), host: z.string(), port: z.int() });

export const LabMachine = z.object({
  id: z.string(),
  name: z.string(),
  status: z.enum(['creating', 'running', 'failed', 'stopped']),
  message: z.string().nullish(),
  publicIp: z.string().nullish(),
  privateIp: z.string().nullish(),
  sshPort: z.int().nullish(),
  sshUser: z.string().nullish(),
  hostKey: z.string().nullish(),
  region: z.string(),
  zone: z.string(),
  sshKey: z.string().nullish(),
  hasUserData: z.boolean().nullish(),
  spec: z.string().nullish(),
  image: z.string().nullish(),
});
export type LabMachine = z.infer<typeof LabMachine>;

/** The list of all machines contains the group of each. */
export const LabMachines = z.object({ items: z.array(LabMachine.extend({ group: z.string(), uid: z.string() })) });

export const LabGroup = z.object({
  group: z.string(),
  uid: z.string(),
  rev: z.int(),
  machines: z.array(LabMachine),
});
export type LabGroup = z.infer<typeof LabGroup>;

export const LabReservation = z.object({
  status: z.enum(['pending', 'active', 'ended']),
  sizes: ReservedSizes,
});
export type LabReservation = z.infer<typeof LabReservation>;

export const LabProblem = z.object({ code: z.string().optional(), message: z.string().optional() });
