import * as z from 'zod';

/** Versions of a node's software by package name (kubelet, kubeadm, kubectl, containerd, kernel, os). */
export const SoftwareVersions = z.record(z.string(), z.string());
export type SoftwareVersions = z.infer<typeof SoftwareVersions>;

/**
 * Desired versions: package managers receive names and versions as arguments, so leading dashes, blanks and wildcards
 * are rejected. The patterns follow Debian's and RPM's naming rules.
 */
export const DesiredSoftware = z.record(
  z.string().regex(/^[A-Za-z0-9][A-Za-z0-9+._-]{0,127}$/),
  z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.+~:_-]{0,127}$/),
);

/** The agent's fact that ends a permission to change the node. */
export const ChangesAllowedUntil = z
  .literal('NodeReady')
  .describe('With this fact of the agent the permission ends; absent: it lasts until it is withdrawn');
