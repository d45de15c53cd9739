import { describe, expect, it } from '@jest/globals';
import type { Node } from '../objects/core.types.js';
import { freeNodeCidr, NODE_CIDR_MASK_DEFAULT, type PodNetwork } from './pod.network.js';

const nodesOf = (network: PodNetwork, max: number): readonly Node[] => {
  const nodes: Node[] = [];
  for (let podCIDR = freeNodeCidr(network, nodes); podCIDR !== undefined; podCIDR = freeNodeCidr(network, nodes)) {
    nodes.push({ spec: { podCIDR } } as Node);
    if (nodes.length === max) break;
  }
  return nodes;
};

describe('node ranges of a pod network, as allocated by kube-controller-manager', () => {
  it.each([
    ['10.244.0.0/16', NODE_CIDR_MASK_DEFAULT, 256],
    ['10.244.0.0/16', 25, 512],
    ['10.244.0.0/23', 25, 4],
    ['10.244.0.0/26', 25, 0],
  ])('%s in ranges of a /%i is enough for %i nodes', (podCidr, nodeCidrMask, count) => {
    const nodes = nodesOf({ podCidr, nodeCidrMask }, 1_000);
    expect(new Set(nodes.map(({ spec }) => spec.podCIDR)).size).toBe(count);
    expect(nodes).toHaveLength(count);
  });

  it('are reused after their node is gone', () => {
    const network = { podCidr: '10.244.0.0/24', nodeCidrMask: 25 };
    const [first, second] = nodesOf(network, 2);
    expect([first?.spec.podCIDR, second?.spec.podCIDR]).toEqual(['10.244.0.0/25', '10.244.0.128/25']);
    expect(freeNodeCidr(network, [second!])).toBe('10.244.0.0/25');
  });
});
