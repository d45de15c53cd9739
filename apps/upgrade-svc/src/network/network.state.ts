import {
  isAddress,
  type ClusterUid,
  type Cni,
  type DeclaredSpec,
  type EventData,
  type Machine,
  type NodeName,
  type NodeRole,
  type StoredEvent,
} from '@fairlead/contracts';

/** A node, as other nodes and its own rules know it. */
export interface NetworkNode {
  readonly role: NodeRole;
  readonly pool: string;
  /** Sorted, each once; names are not among them, because rules are about addresses. */
  readonly addresses: readonly string[];
  readonly sshPort: number;
  /** Its agent runs, so it can be asked for something. */
  readonly hasAgent: boolean;
}

/** What the network configuration of nodes follows from. */
export interface NetworkBasis {
  readonly cni: Cni;
  readonly podCidr: string;
  readonly declared: Pick<DeclaredSpec, 'firewall' | 'sshd'>;
  /** Where the Kubernetes API is balanced; null: not known yet. */
  readonly balancer: Pick<EventData<'LoadBalancerReady'>, 'host' | 'port' | 'placement'> | null;
  /** Nodes through which Fairlead reaches others: names of hosts, as their SSH endpoints have them. */
  readonly jumps: readonly string[];
  readonly nodes: Readonly<Record<string, NetworkNode>>;
}

/** What was said to a node last, and what came of it. */
export interface Said {
  readonly revision: string;
  readonly attempt: number;
  readonly failed: boolean;
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

export const nodeOfMachine = (machine: Machine): NetworkNode => ({
  role: machine.role,
  pool: machine.pool,
  addresses: addressesOf(machine),
  sshPort: machine.ssh.port,
  hasAgent: false,
});

const without = (nodes: NetworkBasis['nodes'], name: string): NetworkBasis['nodes'] => {
  const { [name]: _gone, ...others } = nodes;
  return others;
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

/** The same object where the event changes nothing of what nodes are to have. */
export const basisAfter = (basis: NetworkBasis, event: StoredEvent): NetworkBasis => {
  switch (event.type) {
    case 'ClusterSpecChanged': {
      const { firewall, sshd } = event.data.spec;
      return {
        ...basis,
        declared: { ...(firewall === undefined ? {} : { firewall }), ...(sshd === undefined ? {} : { sshd }) },
      };
    }
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
      return withNode(basis, node, { ...known, addresses: addressesOf(event.data), sshPort: ssh.port });
    }
    case 'AgentStarted': {
      const known = basis.nodes[event.data.node];
      if (known === undefined || known.hasAgent) return basis;
      return withNode(basis, event.data.node, { ...known, hasAgent: true });
    }
    case 'VmDeleted': {
      const { name } = event.data;
      return basis.nodes[name] === undefined ? basis : { ...basis, nodes: without(basis.nodes, name) };
    }
    default:
      return basis;
  }
};
