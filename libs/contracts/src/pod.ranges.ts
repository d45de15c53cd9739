import { NODE_CIDR_MASK, type ClusterSpec } from './cluster-spec.js';

type PodNetwork = Pick<ClusterSpec['kubernetes'], 'podCidr' | 'nodeCidrMask'>;

/** The prefix length of each node's pod range. */
export const nodeMaskOf = ({ nodeCidrMask = NODE_CIDR_MASK }: Pick<PodNetwork, 'nodeCidrMask'>): number => nodeCidrMask;

/**
 * How many nodes of a cluster get a range of its pod network: a node without one never becomes Ready. Infinity: not an
 * IPv4 network.
 */
export const podRangesOf = ({ podCidr, nodeCidrMask }: PodNetwork): number => {
  const prefix = /^[0-9.]+\/(\d{1,2})$/.exec(podCidr)?.[1];
  if (prefix === undefined) return Infinity;
  const mask = nodeMaskOf({ nodeCidrMask });
  return Number(prefix) > mask ? 0 : 2 ** (mask - Number(prefix));
};
