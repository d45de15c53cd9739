import * as z from 'zod';
import { NodeFirewall } from './firewall.js';
import { NodeLoadBalancing } from './load.balancing.js';
import { NodeSshd } from './sshd.js';

/** Parts of a node's network that Fairlead configures, in the order in which they are applied. */
export const NETWORK_PARTS = ['sshd', 'firewall', 'loadBalancing'] as const;
export type NetworkPartName = (typeof NETWORK_PARTS)[number];

/** The network configuration of one node. An absent part is not configured by Fairlead, and is removed if it was. */
export const DesiredNetwork = z.strictObject({
  firewall: NodeFirewall.optional(),
  sshd: NodeSshd.optional(),
  loadBalancing: NodeLoadBalancing.optional(),
});
export type DesiredNetwork = z.infer<typeof DesiredNetwork>;

/** The first digits of a SHA-256 of the desired content: equal content has equal revisions. */
export const NetworkRevision = z.string().regex(/^[0-9a-f]{16}$/);
