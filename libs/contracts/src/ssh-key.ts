import * as z from 'zod';
import { ClusterName, Namespace, NodeName, SecretRef } from './ids.js';

/** One generation of the SSH key of a connection. */
export const SshKeyGeneration = z.strictObject({
  sshKey: z.string().describe('Its name at the provider'),
  publicKey: z.string().describe('ssh-ed25519 <base64> <comment>'),
  keyRef: SecretRef,
});
export type SshKeyGeneration = z.infer<typeof SshKeyGeneration>;

/** How many hosts a list of a rotation names; its count covers all. */
export const ROTATION_HOSTS_MAX = 100;

export const RotationHost = z.strictObject({ namespace: Namespace, cluster: ClusterName, node: NodeName });
export type RotationHost = z.infer<typeof RotationHost>;
