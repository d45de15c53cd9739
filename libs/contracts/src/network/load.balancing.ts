import * as z from 'zod';
import { NodeName } from '../ids.js';
import { fnv1a32 } from '../subjects.js';
import { TRANSPORTS_MAX, VirtualAddress, VIRTUAL_ADDRESSES_MAX, Transport } from './virtual.addresses.js';

/** Maximum nodes that may hold one address: the holder sends to all others once a second. */
export const HOLDERS_MAX = 16;

/** Maximum nodes behind one port: as many as a cluster may have. */
const UPSTREAMS_MAX = 500;

const ip = z.union([z.ipv4(), z.ipv6()]);

/** A node behind a virtual address. */
export const Upstream = z.strictObject({
  node: NodeName,
  address: ip,
  reserve: z
    .boolean()
    .optional()
    .describe('true: it is being drained, and gets connections only while no other one answers'),
});
export type Upstream = z.infer<typeof Upstream>;

/** A virtual address that a node may hold. */
export const HeldAddress = z.strictObject({
  ...VirtualAddress.pick({ name: true, address: true, interface: true }).shape,
  routerId: z.int().min(1).max(255).describe('VRRP: equal on all nodes that may hold the address'),
  priority: z.int().min(1).max(254).describe('VRRP: the node with the highest one is the first to hold the address'),
  peers: z.array(ip).max(HOLDERS_MAX).describe('The other nodes that may hold it'),
  transports: z.array(Transport).max(TRANSPORTS_MAX),
});
export type HeldAddress = z.infer<typeof HeldAddress>;

/** The virtual addresses that a node may hold; if empty, it needs neither keepalived nor haproxy for them. */
export const NodeLoadBalancing = z.strictObject({
  self: ip.describe('The address of the node'),
  pools: z
    .record(z.string(), z.array(Upstream).max(UPSTREAMS_MAX))
    .describe('The nodes of each pool that is behind an address, once for all of them'),
  addresses: z.array(HeldAddress).max(VIRTUAL_ADDRESSES_MAX),
});
export type NodeLoadBalancing = z.infer<typeof NodeLoadBalancing>;

/** The nodes behind a port, ordered by name. */
export const upstreamsOf = (
  { pools }: Pick<NodeLoadBalancing, 'pools'>,
  { backends }: Pick<Transport, 'backends'>,
): readonly Upstream[] =>
  [...new Set<string>(backends)]
    .flatMap((pool) => pools[pool] ?? [])
    .toSorted((one, other) => (one.node < other.node ? -1 : 1));

/** VRRP has 255 groups. Groups in one network do not interfere if each lists its peers. */
export const ROUTER_IDS = 255;

/** The VRRP group of control planes that balance the Kubernetes API themselves. */
export const apiRouterId = (uid: string): number => (fnv1a32(uid) % ROUTER_IDS) + 1;
