import {
  NODE_CIDR_MASK,
  type ClusterSpec,
  CLUSTER_NODES_MAX,
  nodeMaskOf,
  podRangesOf,
  refuse,
  type Refusal,
} from '@fairlead/contracts';
import ipaddr from 'ipaddr.js';

/** An IPv4 network. */
export interface Network {
  readonly address: ipaddr.IPv4;
  readonly prefix: number;
}

/** Reads `10.244.0.0/16`; undefined for anything that is not four decimal parts up to 255 and a prefix from 1 to 32. */
export const parseNetwork = (cidr: string): Network | undefined => {
  if (!ipaddr.IPv4.isValidCIDRFourPartDecimal(cidr)) return undefined;
  const [address, prefix] = ipaddr.IPv4.parseCIDR(cidr);
  return prefix === 0 ? undefined : { address, prefix };
};

/** Two networks overlap if the smaller one lies in the larger one. */
export const overlap = (one: Network, other: Network): boolean => {
  const prefix = Math.min(one.prefix, other.prefix);
  return one.address.match(other.address, prefix);
};

interface Special extends Network {
  readonly range: string;
  readonly purpose: string;
}

const special = (range: string, purpose: string): Special => {
  const [address, prefix] = ipaddr.IPv4.parseCIDR(range);
  return { address, prefix, range, purpose };
};

/** Addresses that no pod or service can have (RFC 6890). */
const SPECIAL: readonly Special[] = [
  special('0.0.0.0/8', 'for "this network"'),
  special('127.0.0.0/8', 'loopback'),
  special('169.254.0.0/16', 'link-local'),
  special('224.0.0.0/4', 'multicast'),
  special('240.0.0.0/4', 'reserved'),
];

/** The special range that overlaps the network; undefined: none. */
export const specialRangeOf = (network: Network): Special | undefined =>
  SPECIAL.find((range) => overlap(network, range));

/** The smallest range of a node: 128 addresses, for a kubelet's maximum of 110 pods. */
const NODE_CIDR_MASK_MAX = 25;

/**
 * The prefix length of each node's range in a new cluster: Kubernetes' default if it leaves room for the maximum of
 * nodes.
 */
export const nodeCidrMaskFor = (pods: Network): number =>
  2 ** (NODE_CIDR_MASK - pods.prefix) < CLUSTER_NODES_MAX ? NODE_CIDR_MASK_MAX : NODE_CIDR_MASK;

/** What exceeds the pod network of a cluster; undefined: every node gets a range. */
export const podRoomFault = (
  network: Pick<ClusterSpec['kubernetes'], 'podCidr' | 'nodeCidrMask'>,
  count: number,
  field: string,
): Refusal | undefined => {
  const { podCidr: value } = network;
  const room = podRangesOf(network);
  const mask = nodeMaskOf(network);
  return count <= room ? undefined : refuse('cluster.pod-cidr-small', { value, room, count, mask }, field);
};

/** `10.244.7.1/16` is the network 10.244.0.0/16. */
export const maskBits = ({ address, prefix }: Network): string =>
  `${ipaddr.IPv4.networkAddressFromCIDR(`${address.toString()}/${prefix}`).toString()}/${prefix}`;
