import {
  isAddress,
  takesDown,
  without,
  type ClusterSpec,
  type ClusterUid,
  type Cni,
  type DeclaredSpec,
  type EventData,
  type Machine,
  type NodeName,
  type NodeRole,
  type UpgradeId,
  type StoredEvent,
} from '@fairlead/contracts';
import { departuresIn } from '@fairlead/domain';

/** The properties of a node that other nodes and its own rules depend on. */
export interface NetworkNode {
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly pool: string;
  /** The upgrade of a surge node; absent: it is none. */
  readonly surge?: UpgradeId;
  /** Sorted and unique; without names, because rules use addresses. */
  readonly addresses: readonly string[];
  readonly sshPort: number;
  /** The address for other nodes; empty: unknown. */
  readonly address: string;
  /** Whether its agent runs, so that it can be configured. */
  readonly hasAgent: boolean;
  /** Whether it is being removed. */
  readonly isLeaving: boolean;
  /** Whether it is being drained for a change, after which it returns. */
  readonly isDraining: boolean;
  /**
   * Whether it is about to be drained or rebooted, by request or by an upgrade: it must hold no address while another
   * node can.
   */
  readonly isYielding: boolean;
  /** Whether it sends no heartbeats. */
  readonly isLost: boolean;
}

/** The input for planning the network configuration of nodes. */
export interface NetworkBasis {
  readonly uid: ClusterUid;
  readonly cni: Cni;
  readonly podCidr: string;
  readonly declared: Pick<DeclaredSpec, 'firewall' | 'sshd' | 'virtualAddresses'>;
  /** The load balancer of the Kubernetes API; null: unknown yet. */
  readonly balancer: Pick<EventData<'LoadBalancerReady'>, 'host' | 'port' | 'placement'> | null;
  /** Nodes through which Fairlead connects to others: host names as in their SSH endpoints. */
  readonly jumps: readonly string[];
  readonly nodes: Readonly<Record<string, NetworkNode>>;
  /** The VRRP groups that nodes were assigned, by address. */
  readonly routerIds: Readonly<Record<string, number>>;
  /** The virtual addresses that each node stated it can hold. */
  readonly serving: Readonly<Record<string, readonly string[]>>;
  /** Operations of an upgrade's latest plan that drain their node. */
  readonly drains: readonly string[];
}

/** The last configuration assigned to a node, and its result. */
export interface AppliedNetworkConfig {
  readonly revision: string;
  readonly attempt: number;
  readonly failed: boolean;
  /** Its virtual addresses; absent: none. */
  readonly addresses?: readonly string[];
}

export interface NetworkState {
  readonly uid: ClusterUid;
  readonly basis: NetworkBasis;
  readonly said: Readonly<Record<string, AppliedNetworkConfig>>;
  /** Nodes that need another configuration, by the event that caused it. */
  readonly due: Readonly<Record<string, Due>>;
}

export interface Due {
  readonly nodes: readonly NodeName[];
  /** Whether to assign it even if it was already assigned. */
  readonly again: boolean;
}

export type Network = { readonly status: 'none' } | ({ readonly status: 'known' } & NetworkState);

export const NO_NETWORK: Network = { status: 'none' };

const addressesOf = ({ publicIp, privateIp }: Pick<Machine, 'publicIp' | 'privateIp'>): readonly string[] =>
  [...new Set([publicIp, privateIp])].filter(isAddress).toSorted();

const addressOf = ({ publicIp, privateIp }: Pick<Machine, 'publicIp' | 'privateIp'>): string =>
  [privateIp, publicIp].find(isAddress) ?? '';

export const nodeOfMachine = (machine: Machine): NetworkNode => ({
  name: machine.name,
  role: machine.role,
  pool: machine.pool,
  ...(machine.surge === undefined ? {} : { surge: machine.surge }),
  addresses: addressesOf(machine),
  sshPort: machine.ssh.port,
  address: addressOf(machine),
  hasAgent: false,
  isLeaving: false,
  isDraining: false,
  isYielding: false,
  isLost: false,
});

/** Changes a node; returns the same object if nothing changes. */
const withChange = (basis: NetworkBasis, name: string, change: Partial<NetworkNode>): NetworkBasis => {
  const known = basis.nodes[name];
  if (known === undefined) return basis;
  const isSame = Object.entries(change).every(([field, value]) => known[field as keyof NetworkNode] === value);
  return isSame ? basis : withNode(basis, name, { ...known, ...change });
};

const withNode = (basis: NetworkBasis, name: string, node: NetworkNode): NetworkBasis => ({
  ...basis,
  nodes: { ...basis.nodes, [name]: node },
});

const withMachine = (basis: NetworkBasis, machine: Machine): NetworkBasis => {
  const { jump } = machine.ssh;
  const jumps = jump === undefined || basis.jumps.includes(jump.host) ? basis.jumps : [...basis.jumps, jump.host];
  const hasAgent = basis.nodes[machine.name]?.hasAgent ?? false;
  return withNode({ ...basis, jumps }, machine.name, { ...nodeOfMachine(machine), hasAgent });
};

const keptIds = (
  { routerIds }: NetworkBasis,
  declared: NetworkBasis['declared']['virtualAddresses'] = [],
): NetworkBasis['routerIds'] =>
  Object.fromEntries(Object.entries(routerIds).filter(([name]) => declared.some((address) => address.name === name)));

/**
 * Applies events that only virtual addresses depend on: leaving, draining or lost nodes, and assigned configurations.
 */
const balancedAfter = (basis: NetworkBasis, event: StoredEvent): NetworkBasis => {
  switch (event.type) {
    case 'UpgradePlanned': {
      const drains = event.data.plan.operations.filter(({ drain }) => drain).map(({ id }) => id);
      return basis.drains.join() === drains.join() ? basis : { ...basis, drains };
    }
    // Before its cordon, so that the address has moved when its pods are evicted.
    case 'UpgradeAllowed':
      return basis.drains.includes(event.data.operation)
        ? withChange(basis, event.data.node, { isYielding: true })
        : basis;
    case 'UpgradeWithdrawn':
      return event.data.leftFailed ? basis : withChange(basis, event.data.node, { isYielding: false });
    case 'NodeCordoned':
      return withChange(basis, event.data.node, { isDraining: true });
    // A node that is only cordoned keeps its pods.
    case 'NodeActionCordoned':
      return event.data.action === 'cordon' ? basis : withChange(basis, event.data.node, { isDraining: true });
    case 'NodeUncordoned':
    case 'NodeActionUncordoned':
      return withChange(basis, event.data.node, { isDraining: false, isYielding: false });
    case 'NodeActionStarted':
      return takesDown(event.data.action) ? withChange(basis, event.data.node, { isYielding: true }) : basis;
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided': {
      const { action, node } = event.data;
      // One that remains cordoned still yields, because its operator may switch it off.
      const isYielding = basis.nodes[node]?.isDraining === true;
      return takesDown(action) ? withChange(basis, node, { isYielding }) : basis;
    }
    case 'NodeLost':
      return withChange(basis, event.data.node, { isLost: true });
    case 'NodeRecovered':
    case 'NodeReady':
      return withChange(basis, event.data.node, { isLost: false });
    default:
      return departuresIn(event, basis.nodes).reduce(
        (before, { node, leaving: isLeaving }) => withChange(before, node, { isLeaving }),
        basis,
      );
  }
};

/** Records the addresses that a node was assigned, or states that it has. */
export const withServing = (basis: NetworkBasis, node: NodeName, addresses: readonly string[]): NetworkBasis => {
  const before = basis.serving[node] ?? [];
  if (before.length === addresses.length && addresses.every((name) => before.includes(name))) return basis;
  const others = without(basis.serving, node);
  return { ...basis, serving: addresses.length === 0 ? others : { ...others, [node]: addresses } };
};

/** The pod network settings of a cluster's request. */
export const podNetworkOf = ({
  kubernetes: { networkCni, podCidr },
}: ClusterSpec): Pick<NetworkBasis, 'cni' | 'podCidr'> => ({ cni: networkCni, podCidr });

/** Returns the same object if the event does not affect the configuration of nodes. */
export const basisAfter = (basis: NetworkBasis, event: StoredEvent): NetworkBasis => {
  switch (event.type) {
    case 'ClusterSpecChanged': {
      const { firewall, sshd, virtualAddresses } = event.data.spec;
      const declared = {
        ...(firewall === undefined ? {} : { firewall }),
        ...(sshd === undefined ? {} : { sshd }),
        ...(virtualAddresses === undefined ? {} : { virtualAddresses }),
      };
      return { ...basis, declared, routerIds: keptIds(basis, virtualAddresses) };
    }
    case 'ClusterRetryRequested':
      return event.data.correction === undefined ? basis : { ...basis, ...podNetworkOf(event.data.correction.spec) };
    case 'LoadBalancerReady': {
      const { host, port, placement } = event.data;
      return { ...basis, balancer: { host, port, ...(placement === undefined ? {} : { placement }) } };
    }
    // Together, so that other nodes are changed once for all of them.
    case 'VmsCreated':
      return event.data.machines.reduce(withMachine, basis);
    case 'VmAddressChanged': {
      const { node, ssh } = event.data;
      const known = basis.nodes[node];
      if (known === undefined) return basis;
      const { data } = event;
      return withNode(basis, node, {
        ...known,
        addresses: addressesOf(data),
        address: addressOf(data),
        sshPort: ssh.port,
      });
    }
    case 'AgentStarted': {
      return withChange(basis, event.data.node, { hasAgent: true });
    }
    case 'VmDeleted': {
      const { name } = event.data;
      if (basis.nodes[name] === undefined) return basis;
      return { ...basis, nodes: without(basis.nodes, name), serving: without(basis.serving, name) };
    }
    default:
      return balancedAfter(basis, event);
  }
};
