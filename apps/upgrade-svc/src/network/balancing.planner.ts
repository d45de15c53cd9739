import {
  apiRouterId,
  fnv1a32,
  HOLDERS_MAX,
  ROUTER_IDS,
  type HeldAddress,
  type NodeLoadBalancing,
  type NodeName,
  type Upstream,
  type VirtualAddress,
} from '@fairlead/contracts';

/** The properties of a node that virtual addresses depend on. */
export interface BalancingNode {
  /** control-plane for control planes. */
  readonly pool: string;
  /** The address for other nodes; empty: unknown. */
  readonly address: string;
  /** Whether its agent runs, so that it can hold an address. */
  readonly hasAgent: boolean;
  /** Whether it is being removed. */
  readonly isLeaving: boolean;
  /** Whether it is being drained for a change, after which it returns. */
  readonly isDraining: boolean;
  /** Whether it must hold no address while another node can. */
  readonly isYielding: boolean;
  /** Whether it sends no heartbeats. */
  readonly isLost: boolean;
}

/** The input for planning virtual addresses. */
export interface BalancingBasis {
  readonly uid: string;
  readonly declared: readonly VirtualAddress[];
  readonly nodes: Readonly<Record<string, BalancingNode>>;
  /** The VRRP groups that nodes were assigned, by address. They do not change. */
  readonly routerIds: Readonly<Record<string, number>>;
  /** The addresses that each node is known to be able to hold. */
  readonly serving: Readonly<Record<string, readonly string[]>>;
}

/** 255 is reserved for routers that own an address. */
const PRIORITY_FIRST = 254;
/**
 * Each lower priority waits (256 - priority) / 256 s longer than three advertisements: the next holder's own
 * advertisement must reach the others within the difference.
 */
const PRIORITY_STEP = 15;

/**
 * IPv4 addresses of a small network differ in their last octet, so that their groups differ too, also between clusters.
 */
const preferredId = (address: string): number => {
  const last = address.includes('.') ? Number(address.split('.').at(-1)) : fnv1a32(address);
  return ((last + ROUTER_IDS - 1) % ROUTER_IDS) + 1;
};

const freeFrom = (first: number, used: ReadonlySet<number>): number => {
  const ids = Array.from({ length: ROUTER_IDS }, (_, away) => ((first - 1 + away) % ROUTER_IDS) + 1);
  return ids.find((id) => !used.has(id)) ?? first;
};

/** The VRRP group of each address: different from that of the API, and constant while the address is declared. */
export const routerIdsOf = ({
  uid,
  declared,
  routerIds: before,
}: Pick<BalancingBasis, 'uid' | 'declared' | 'routerIds'>): Readonly<Record<string, number>> => {
  const ids: Record<string, number> = {};
  for (const { name } of declared) if (before[name] !== undefined) ids[name] = before[name];
  const used = new Set([apiRouterId(uid), ...Object.values(ids)]);
  for (const { name, address } of declared) {
    if (ids[name] !== undefined) continue;
    const id = freeFrom(preferredId(address), used);
    ids[name] = id;
    used.add(id);
  }
  return ids;
};

type NamedNode = readonly [name: NodeName, node: BalancingNode];

const namedNodes = ({ nodes }: BalancingBasis): readonly NamedNode[] =>
  Object.entries(nodes) as [NodeName, BalancingNode][];

/**
 * Each address has its own order, so that addresses are spread over nodes; adding or removing a node does not reorder
 * others.
 */
const inOrder = (address: string, names: readonly NodeName[]): readonly NodeName[] => {
  const weight = (name: NodeName): number => fnv1a32(`${address}/${name}`);
  return names.toSorted((one, other) => weight(one) - weight(other) || (one < other ? -1 : 1));
};

const ableIn = (basis: BalancingBasis, address: VirtualAddress): readonly NamedNode[] =>
  namedNodes(basis).filter(
    ([, node]) => node.hasAgent && node.address !== '' && address.holders.includes(node.pool as never),
  );

const isServing = ({ nodes, serving }: BalancingBasis, address: VirtualAddress, name: NodeName): boolean =>
  nodes[name]?.isLost === false && serving[name]?.includes(address.name) === true;

/**
 * Whether another node can hold the address, so that leaving ones need not: an address is never taken from its last
 * holder.
 */
const isRelieved = (basis: BalancingBasis, address: VirtualAddress): boolean =>
  ableIn(basis, address).some(
    ([name, { isLeaving, isYielding }]) => !isLeaving && !isYielding && isServing(basis, address, name),
  );

/**
 * The holders of an address in order of preference. A node that is being removed is included until another one can take
 * over.
 */
export const holdersOf = (basis: BalancingBasis, address: VirtualAddress): readonly NodeName[] => {
  const able = ableIn(basis, address);
  const staying = able.filter(([, node]) => !node.isLeaving).map(([name]) => name);
  const leaving = able.filter(([, node]) => node.isLeaving).map(([name]) => name);
  const names = inOrder(address.name, [...staying, ...(isRelieved(basis, address) ? [] : leaving)]);
  if (names.length <= HOLDERS_MAX) return names;
  const rank = (name: NodeName): number => Number(!isServing(basis, address, name));
  const chosen = new Set(names.toSorted((one, other) => rank(one) - rank(other)).slice(0, HOLDERS_MAX));
  return names.filter((name) => chosen.has(name));
};

/** The backends of a pool. A node that is being removed gets no connections, a draining one only as the last resort. */
const membersOf = (basis: BalancingBasis, name: string): Upstream[] =>
  namedNodes(basis).flatMap(([node, { pool, address, isLeaving, isDraining, hasAgent }]) =>
    isLeaving || !hasAgent || address === '' || pool !== name
      ? []
      : [{ node, address, ...(isDraining ? { reserve: true } : {}) }],
  );

const poolsBehind = (basis: BalancingBasis, addresses: readonly HeldAddress[]): NodeLoadBalancing['pools'] => {
  const names = new Set<string>(addresses.flatMap(({ transports }) => transports.flatMap(({ backends }) => backends)));
  return Object.fromEntries([...names].toSorted().map((name) => [name, membersOf(basis, name)]));
};

/** The configuration of each node that may hold an address. Other nodes have none. */
export const balancingOf = (basis: BalancingBasis): ReadonlyMap<NodeName, NodeLoadBalancing> => {
  const held = new Map<NodeName, HeldAddress[]>();
  const ids = routerIdsOf(basis);
  const addressOf = (name: NodeName): string => basis.nodes[name]?.address ?? '';
  for (const declared of basis.declared) {
    const { holders: _pools, ...address } = declared;
    const holders = holdersOf(basis, declared);
    const relieved = isRelieved(basis, declared);
    for (const [place, self] of holders.entries()) {
      // It remains a peer of the others, so that nothing changes for them.
      if (relieved && basis.nodes[self]?.isYielding === true) continue;
      const peers = holders.filter((peer) => peer !== self).map(addressOf);
      const routerId = ids[address.name] ?? 1;
      const one = { ...address, routerId, priority: PRIORITY_FIRST - PRIORITY_STEP * place, peers: peers.toSorted() };
      held.set(self, [...(held.get(self) ?? []), one]);
    }
  }
  return new Map(
    [...held].map(([name, addresses]) => [
      name,
      { self: addressOf(name), pools: poolsBehind(basis, addresses), addresses },
    ]),
  );
};
