import type { DesiredNetwork, NodeLoadBalancing, NodeName } from '@fairlead/contracts';
import { balancingOf } from './balancing.planner.js';
import { firewallOf } from './firewall.planner.js';
import { revisionOf } from './network.revision.js';
import type { NetworkBasis, NetworkNode, AppliedNetworkConfig } from './network.state.js';

/** The revision of a node that was never assigned a configuration. */
export const NO_REVISION = revisionOf({});

const isJump = ({ jumps }: NetworkBasis, { addresses }: NetworkNode): boolean =>
  addresses.some((address) => jumps.includes(address));

type Balanced = ReadonlyMap<NodeName, NodeLoadBalancing>;

const balancedBy = (basis: NetworkBasis): Balanced =>
  balancingOf({ ...basis, declared: basis.declared.virtualAddresses ?? [] });

/** The network configuration of a node. */
export const contentOf = (
  basis: NetworkBasis,
  node: NetworkNode,
  balanced: Balanced = balancedBy(basis),
): DesiredNetwork => {
  const firewall = firewallOf(basis, node, balanced);
  const loadBalancing = balanced.get(node.name);
  const hardening = basis.declared.sshd?.hardening === true;
  return {
    ...(firewall === undefined ? {} : { firewall }),
    ...(hardening ? { sshd: { hardening, tcpForwarding: isJump(basis, node) } } : {}),
    ...(loadBalancing === undefined ? {} : { loadBalancing }),
  };
};

export interface Planned {
  readonly content: DesiredNetwork;
  readonly revision: string;
}

/**
 * The key of a content, besides the common basis: a cluster of 500 nodes has few different contents. Possible holders
 * of an address have their own.
 */
const groupOf = (basis: NetworkBasis, node: NetworkNode, balanced: Balanced): string =>
  balanced.has(node.name) ? node.name : JSON.stringify([node.role, node.pool, node.sshPort, isJump(basis, node)]);

/** Plans node by node; a content that several nodes share is created once. */
export const planner = (basis: NetworkBasis): ((node: NetworkNode) => Planned) => {
  const groups = new Map<string, Planned>();
  const balanced = balancedBy(basis);
  return (node) => {
    const group = groupOf(basis, node, balanced);
    const known = groups.get(group);
    if (known !== undefined) return known;
    const content = contentOf(basis, node, balanced);
    const planned = { content, revision: revisionOf(content) };
    groups.set(group, planned);
    return planned;
  };
};

/** Nodes whose network configuration differs from the last assigned one. */
export const outdated = (
  basis: NetworkBasis,
  said: Readonly<Record<string, AppliedNetworkConfig>>,
): readonly NodeName[] => {
  const plan = planner(basis);
  return Object.entries(basis.nodes).flatMap(([name, node]) =>
    node.hasAgent && plan(node).revision !== (said[name]?.revision ?? NO_REVISION) ? [name as NodeName] : [],
  );
};
