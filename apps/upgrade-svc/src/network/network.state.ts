import {
  isAddress,
  without,
  type ClusterSpec,
  type ClusterUid,
  type Cni,
  type DeclaredSpec,
  type EventData,
  type Machine,
  type NodeActionKind,
  type NodeName,
  type NodeRole,
  type UpgradeId,
  type StoredEvent,
} from '@fairlead/contracts';
import { departuresIn } from '@fairlead/domain';

/** A node, as other nodes and its own rules know it. */
export interface NetworkNode {
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly pool: string;
  /** The upgrade of which it is a surge node; absent: none. */
  readonly surge?: UpgradeId;
  /** Sorted, each once; names are not among them, because rules are about addresses. */
  readonly addresses: readonly string[];
  readonly sshPort: number;
  /** Where other nodes reach it; empty: not known. */
  readonly address: string;
  /** Its agent runs, so it can be asked for something. */
  readonly hasAgent: boolean;
  /** It is being removed. */
  readonly isLeaving: boolean;
  /** It is being emptied for a change, and comes back. */
  readonly isDraining: boolean;
  /** It is about to be drained or rebooted, by request or by an upgrade: it is to hold no address while another node can. */
  readonly isYielding: boolean;
  /** It sends no heartbeats. */
  readonly isLost: boolean;
}

/** What the network configuration of nodes follows from. */
export interface NetworkBasis {
  readonly uid: ClusterUid;
  readonly cni: Cni;
  readonly podCidr: string;
  readonly declared: Pick<DeclaredSpec, 'firewall' | 'sshd' | 'virtualAddresses'>;
  /** Where the Kubernetes API is balanced; null: not known yet. */
  readonly balancer: Pick<EventData<'LoadBalancerReady'>, 'host' | 'port' | 'placement'> | null;
  /** Nodes through which Fairlead reaches others: names of hosts, as their SSH endpoints have them. */
  readonly jumps: readonly string[];
  readonly nodes: Readonly<Record<string, NetworkNode>>;
  /** VRRP groups of virtual addresses, by address: those that nodes were given. */
  readonly routerIds: Readonly<Record<string, number>>;
  /** By node: the virtual addresses that it said it can hold. */
  readonly serving: Readonly<Record<string, readonly string[]>>;
  /** Operations of the latest plan of an upgrade that drain their node. */
  readonly drains: readonly string[];
}

/** What was said to a node last, and what came of it. */
export interface Said {
  readonly revision: string;
  readonly attempt: number;
  readonly failed: boolean;
  /** Virtual addresses that it was given; absent: none. */
  readonly addresses?: readonly string[];
}

export interface NetworkState {
  readonly uid: ClusterUid;
  readonly basis: NetworkBasis;
  readonly said: Readonly<Record<string, Said>>;
  /** Nodes that must be given another configuration, by the event from which that follows. */
  readonly due: Readonly<Record<string, Due>>;
}

export interface Due {
  readonly nodes: readonly NodeName[];
  /** Also one that they were given already. */
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

/** Changes what is known of a node; the same object where nothing changes. */
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

const takesDown = (action: NodeActionKind): boolean => action === 'reboot' || action === 'drain';

/** What only virtual addresses depend on: nodes that leave, are emptied or are lost, and what they were given. */
const balancedAfter = (basis: NetworkBasis, event: StoredEvent): NetworkBasis => {
  switch (event.type) {
    case 'UpgradePlanned': {
      const drains = event.data.plan.operations.filter(({ drain }) => drain).map(({ id }) => id);
      return basis.drains.join() === drains.join() ? basis : { ...basis, drains };
    }
    // Before its cordon, so that the address has moved when its pods go.
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
      // One that stays cordoned goes on: whoever drained it may switch it off.
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

/** What a node was given, or says that it has now. */
export const withServing = (basis: NetworkBasis, node: NodeName, addresses: readonly string[]): NetworkBasis => {
  const before = basis.serving[node] ?? [];
  if (before.length === addresses.length && addresses.every((name) => before.includes(name))) return basis;
  const others = without(basis.serving, node);
  return { ...basis, serving: addresses.length === 0 ? others : { ...others, [node]: addresses } };
};

/** What is decided of the network of pods when the cluster is requested. */
export const podNetworkOf = ({
  kubernetes: { networkCni, podCidr },
}: ClusterSpec): Pick<NetworkBasis, 'cni' | 'podCidr'> => ({ cni: networkCni, podCidr });

/** The same object where the event changes nothing of what nodes are to have. */
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
