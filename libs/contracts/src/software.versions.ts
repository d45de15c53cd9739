import * as z from 'zod';

/** Software of a node by package name (kubelet, kubeadm, kubectl, containerd, kernel, os) and its version. */
export const SoftwareVersions = z.record(z.string(), z.string());
export type SoftwareVersions = z.infer<typeof SoftwareVersions>;

/**
 * The same where it is desired: package managers get names and versions as arguments, and one that begins with a dash, or has a blank or a
 * wildcard in it, would be more to them than a package. As Debian and RPM name packages and versions.
 */
export const DesiredSoftware = z.record(
  z.string().regex(/^[A-Za-z0-9][A-Za-z0-9+._-]{0,127}$/),
  z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.+~:_-]{0,127}$/),
);

/** The fact of its agent with which a permission to change the node ends by itself. */
export const ChangesAllowedUntil = z
  .literal('NodeReady')
  .describe('With this fact of the agent the permission ends; absent: it lasts until it is withdrawn');
