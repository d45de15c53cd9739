import * as z from 'zod';
import { RootDisk } from './cluster-spec.js';
import { HostProfile } from './hosts.js';
import { ConnectionName, NodeName, SecretRef, UpgradeId } from './ids.js';
import { PROVIDER_ID_MAX, PROVIDER_TEXT_MAX } from './watch.js';

export const NodeRole = z.enum(['control-plane', 'worker']);
export type NodeRole = z.infer<typeof NodeRole>;

/** A machine of a connection that no cluster planned and that becomes the machine of a node. */
export const AdoptedMachine = z.strictObject({
  id: z.string().min(1).max(PROVIDER_ID_MAX).describe("The provider's id"),
  group: z.string().max(PROVIDER_TEXT_MAX).describe('The group that it was in: it is taken out of no other one'),
});
export type AdoptedMachine = z.infer<typeof AdoptedMachine>;

const surge = UpgradeId.optional().describe(
  'Extra while this upgrade changes its pool, and no part of its requested size',
);

/** A desired machine. It has a name, and may not exist yet. */
export const MachinePlan = z.strictObject({
  name: NodeName,
  role: NodeRole,
  pool: z.string(),
  leader: z.boolean().describe('The control plane on which kubeadm init runs'),
  connection: ConnectionName,
  spec: z.string(),
  rootDisk: RootDisk,
  image: z.string().optional().describe('Absent: that of its connection'),
  zone: z.string().optional().describe('Its zone; absent: the provider chooses'),
  surge,
  adopts: AdoptedMachine.optional().describe('The machine that it is, which exists already; absent: it is created'),
});
export type MachinePlan = z.infer<typeof MachinePlan>;

const sshHost = {
  host: z.string(),
  port: z.int().min(1).max(65535),
  user: z.string().describe('Other than root: commands run through sudo -n'),
  keyRef: SecretRef,
  hostKey: z
    .string()
    .nullable()
    .describe('SHA256:<base64> fingerprint that the provider vouches for; null: pin the first one seen'),
};

/** The SSH endpoint of a machine. `keyRef` refers to the private key. */
export const SshEndpoint = z.strictObject({
  ...sshHost,
  jump: z.strictObject(sshHost).optional().describe('The host through which the machine is reached'),
});
export type SshEndpoint = z.infer<typeof SshEndpoint>;

/** Where a machine is reached. */
export interface MachineAddresses {
  readonly publicIp: string;
  readonly privateIp: string;
  readonly ssh: { readonly host: string; readonly port: number };
}

/** A machine that runs. */
export const Machine = z.strictObject({
  name: NodeName,
  role: NodeRole,
  pool: z.string(),
  leader: z.boolean(),
  connection: ConnectionName,
  spec: z.string(),
  providerId: z.string().describe('<provider>://<what the provider calls it>; becomes Node.spec.providerID'),
  publicIp: z.string(),
  privateIp: z.string(),
  ssh: SshEndpoint,
  reach: z
    .literal('agent')
    .optional()
    .describe('It connects by itself, and nothing opens it by SSH; absent: it is reached by SSH'),
  csp: z.string(),
  region: z.string(),
  zone: z.string(),
  profile: HostProfile.optional(),
  labels: z
    .record(z.string(), z.string())
    .optional()
    .describe('Labels that its node has when it joins: those that its provider wants, and its pool'),
  surge,
});
export type Machine = z.infer<typeof Machine>;

/** The machine with new addresses; its host key and trust are unchanged. */
export const machineAt = (
  machine: Machine,
  { publicIp, privateIp, ssh: { host, port } }: MachineAddresses,
): Machine => ({
  ...machine,
  publicIp,
  privateIp,
  ssh: { ...machine.ssh, host, port },
});
