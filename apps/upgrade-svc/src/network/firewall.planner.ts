import {
  apiAccessOf,
  isAddress,
  NODE_PORTS,
  type AllowRule,
  type Cni,
  type EgressRule,
  type Firewall,
  type FirewallRule,
  type HeldAddress,
  type NodeFirewall,
  type NodeLoadBalancing,
  type RuleSource,
  type Transport,
} from '@fairlead/contracts';
import type { NetworkBasis, NetworkNode } from './network.state.js';

const SSH_PORT = 22;
const API_PORT = 6443;

type Protocol = 'tcp' | 'udp';

const open = (name: string, protocol: Protocol, ports: readonly (number | string)[], peers: readonly RuleSource[]) => ({
  name,
  protocol,
  ports: [...new Set(ports.map(String))],
  peers: [...new Set(peers)],
});

/** The ports that the pod network of a cluster needs between its nodes, from the documentation of each project. */
const CNI_RULES: Readonly<Record<Cni, readonly FirewallRule[]>> = {
  flannel: [open('flannel-vxlan', 'udp', [8472], ['@nodes'])],
  canal: [open('canal-vxlan', 'udp', [8472], ['@nodes'])],
  kilo: [open('kilo-wireguard', 'udp', [51_820], ['@nodes'])],
  calico: [
    open('calico-bgp', 'tcp', [179], ['@nodes']),
    open('calico-typha', 'tcp', [5473], ['@nodes']),
    open('calico-vxlan', 'udp', [4789], ['@nodes']),
    { name: 'calico-ipip', protocol: 'ipip', ports: [], peers: ['@nodes'] },
  ],
  cilium: [
    open('cilium-vxlan', 'udp', [8472], ['@nodes']),
    open('cilium-health', 'tcp', [4240], ['@nodes']),
    open('cilium-hubble', 'tcp', [4244], ['@nodes']),
  ],
};

/** Control planes that balance the API themselves use VRRP for its address. */
const API_VRRP: FirewallRule = { name: 'kubernetes-api-vrrp', protocol: 'vrrp', ports: [], peers: ['@control-planes'] };

const appliesTo = ({ pools }: Pick<AllowRule, 'pools'>, { role, pool }: NetworkNode): boolean =>
  pools === undefined || pools.some((name) => name === (role === 'control-plane' ? 'control-plane' : pool));

const declaredRules = (
  rules: readonly (AllowRule | EgressRule)[] | undefined,
  node: NetworkNode,
): readonly FirewallRule[] =>
  (rules ?? [])
    .filter((rule) => appliesTo(rule, node))
    .map((rule) => open(`declared-${rule.name}`, rule.protocol, rule.ports, 'from' in rule ? rule.from : rule.to));

type Balancer = NonNullable<NetworkBasis['balancer']>;

/** The ports of the API on a control plane: also that of the balanced one, if control planes balance it. */
const apiPortsOf = ({ balancer }: NetworkBasis): readonly number[] => [
  ...new Set([API_PORT, ...(balancer?.placement === 'control-planes' ? [balancer.port] : [])]),
];

const outsideOf = (balancer: Balancer | null): readonly string[] =>
  balancer !== null && balancer.placement !== 'control-planes' && isAddress(balancer.host) ? [balancer.host] : [];

const apiRule = (basis: NetworkBasis, firewall: Firewall): FirewallRule => {
  const access = apiAccessOf(firewall, basis.balancer?.host);
  const peers: readonly RuleSource[] =
    access.to === 'everyone'
      ? ['any']
      : ['@nodes', '@pods', '@fairlead', ...outsideOf(basis.balancer), ...access.networks];
  return open('kubernetes-api', 'tcp', apiPortsOf(basis), peers);
};

/** On control planes: the API, also if they balance it themselves, and etcd. */
const controlPlaneRules = (basis: NetworkBasis, firewall: Firewall): readonly FirewallRule[] => [
  apiRule(basis, firewall),
  open('etcd', 'tcp', ['2379-2380'], ['@control-planes']),
  ...(basis.balancer?.placement === 'control-planes' ? [API_VRRP] : []),
];

type Balanced = ReadonlyMap<string, NodeLoadBalancing>;

const vrrpWith = (peers: readonly string[]): FirewallRule => ({
  name: 'virtual-addresses-vrrp',
  protocol: 'vrrp',
  ports: [],
  peers: [...new Set(peers)],
});

/**
 * Who may connect to a port of a virtual address: the clients that haproxy allows, and other possible holders, to check
 * whether it responds.
 */
const clientsOf = ({ address, peers }: HeldAddress, { allow }: Transport): readonly RuleSource[] => {
  const everyone = address.includes(':') ? '::/0' : '0.0.0.0/0';
  return allow.includes(everyone) ? ['any'] : [...allow, ...peers];
};

const heldRules = (balancing: NodeLoadBalancing | undefined): readonly FirewallRule[] => {
  const addresses = balancing?.addresses ?? [];
  const peers = addresses.flatMap((address) => address.peers);
  return [
    ...addresses.flatMap((address) =>
      address.transports.map((one) =>
        open(`address-${address.name}-${one.name}`, 'tcp', [one.frontendPort], clientsOf(address, one)),
      ),
    ),
    ...(peers.length === 0 ? [] : [vrrpWith(peers)]),
  ];
};

const [NODE_PORT_FIRST = 0, NODE_PORT_LAST = 0] = NODE_PORTS.split('-').map(Number);

/** Backend ports of virtual addresses; those of NodePort services are open to nodes anyway. */
const behindRules = ({ declared }: NetworkBasis, { pool }: NetworkNode): readonly FirewallRule[] =>
  (declared.virtualAddresses ?? []).flatMap(({ name, transports }) =>
    transports.flatMap((one) => {
      const { backendPort: port, backends } = one;
      const isOpen = port >= NODE_PORT_FIRST && port <= NODE_PORT_LAST;
      return isOpen || !backends.includes(pool as never)
        ? []
        : [open(`behind-${name}-${one.name}`, 'tcp', [port], ['@nodes'])];
    }),
  );

const inboundOf = (
  basis: NetworkBasis,
  firewall: Firewall,
  node: NetworkNode,
  balancing: NodeLoadBalancing | undefined,
): readonly FirewallRule[] => [
  open('ssh', 'tcp', [SSH_PORT, node.sshPort], ['@fairlead', ...(firewall.ssh ?? [])]),
  // Also from pods: metrics-server connects to kubelets.
  open('kubelet', 'tcp', [10_250], ['@nodes', '@pods']),
  ...(node.role === 'control-plane' ? controlPlaneRules(basis, firewall) : []),
  ...CNI_RULES[basis.cni],
  ...heldRules(balancing),
  ...behindRules(basis, node),
  ...declaredRules(firewall.allow, node),
];

const everything = (name: string, peers: readonly RuleSource[]): readonly FirewallRule[] =>
  (['tcp', 'udp'] as const).map((protocol) => open(`${name}-${protocol}`, protocol, [], peers));

/**
 * Required outbound connections of a node, besides declared ones. NATS must be declared, because only agents know its
 * addresses.
 */
const outboundOf = (
  { cni, balancer }: NetworkBasis,
  { egress }: Firewall,
  node: NetworkNode,
  balancing: NodeLoadBalancing | undefined,
): readonly FirewallRule[] => [
  ...everything('cluster', ['@nodes', '@pods']),
  ...(['tcp', 'udp'] as const).map((protocol) => open(`dns-${protocol}`, protocol, [53], ['any'])),
  open('ntp', 'udp', [123], ['any']),
  ...(balancer === null
    ? []
    : [open('kubernetes-api', 'tcp', [balancer.port], [isAddress(balancer.host) ? balancer.host : 'any'])]),
  ...(balancer?.placement === 'control-planes' && node.role === 'control-plane' ? [API_VRRP] : []),
  ...CNI_RULES[cni].filter(({ protocol }) => protocol === 'ipip'),
  ...heldRules(balancing).filter(({ protocol }) => protocol === 'vrrp'),
  ...declaredRules(egress, node),
];

const addressesOf = (nodes: readonly NetworkNode[]): string[] => [
  ...new Set(nodes.flatMap(({ addresses }) => addresses).toSorted()),
];

type Sets = NodeFirewall['sets'];

/** Nodes that have no address for others yet do not connect. */
const setsOf = ({ nodes, podCidr }: NetworkBasis, declared: Firewall['nodes']): Sets => {
  const all = Object.values(nodes);
  return {
    nodes: declared === undefined ? addressesOf(all) : [...declared],
    'control-planes': addressesOf(all.filter(({ role }) => role === 'control-plane')),
    pods: [podCidr],
  };
};

/**
 * Closes the ports of the API alone. Before the balancer is known, or where everyone may connect, there is nothing to
 * close.
 */
const apiFirewallOf = (basis: NetworkBasis, firewall: Firewall, { role }: NetworkNode): NodeFirewall | undefined => {
  if (role !== 'control-plane' || basis.balancer === null) return undefined;
  if (apiAccessOf(firewall, basis.balancer.host).to === 'everyone') return undefined;
  return {
    sets: setsOf(basis, firewall.nodes),
    inbound: [apiRule(basis, firewall)],
    nodePorts: ['any'],
    closed: [...apiPortsOf(basis)],
  };
};

/**
 * The firewall of one node; undefined: it has none. Nodes of one role and pool have the same one, unless they may hold
 * virtual addresses.
 */
export const firewallOf = (basis: NetworkBasis, node: NetworkNode, balanced: Balanced): NodeFirewall | undefined => {
  const { firewall } = basis.declared;
  if (firewall === undefined || !firewall.enabled) return undefined;
  if (firewall.scope === 'api') return apiFirewallOf(basis, firewall, node);
  const balancing = balanced.get(node.name);
  return {
    sets: setsOf(basis, firewall.nodes),
    inbound: [...inboundOf(basis, firewall, node, balancing)],
    nodePorts: [...new Set<RuleSource>(['@nodes', '@pods', ...(firewall.nodePorts ?? [])])],
    ...(firewall.egress === undefined ? {} : { outbound: [...outboundOf(basis, firewall, node, balancing)] }),
  };
};
