import * as z from 'zod';
import { PoolName } from '../ids.js';
import { refuse, type Refusal } from '../refusals.js';

/** The name of the control planes wherever pools are listed. */
const CONTROL_PLANES = 'control-plane';

const RULES_MAX = 50;
const NETWORKS_MAX = 50;
const PORTS_MAX = 20;
const PORT_MAX = 65_535;
/** Rules of the manifest, of Kubernetes, and for the ports of virtual addresses. */
const INBOUND_MAX = 400;
/** Enough for all nodes of the largest cluster, and for nodes that are being replaced. */
const SET_MAX = 2_000;

const Port = z.int().min(1).max(PORT_MAX);

const isRange = (text: string): boolean => {
  const [from = 0, to = from] = text.split('-').map(Number);
  return from >= 1 && from <= to && to <= PORT_MAX;
};

/** `443`, `"443"` or `"8000-8010"`. */
export const Ports = z.union([
  Port,
  z
    .string()
    .regex(/^[1-9]\d{0,4}(-[1-9]\d{0,4})?$/, {
      error: 'is not a port or a range of ports, e.g. 8000-8010',
      abort: true,
    })
    .refine(isRange, { error: 'is not a port or a range of ports, e.g. 8000-8010' }),
]);

/** A network, or a single address. */
export const Cidr = z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], {
  error: 'is not a network or an address, e.g. 192.0.2.0/24',
});

const Address = z.union([z.ipv4(), z.ipv6()]);

/** Rules match addresses, not names. */
export const isAddress = (text: string): boolean => Address.safeParse(text).success;

const networks = z.array(Cidr).max(NETWORKS_MAX);

const rule = {
  name: PoolName.describe('Of the rule: a DNS label, unique in the firewall'),
  protocol: z.enum(['tcp', 'udp']).default('tcp'),
  ports: z.array(Ports).min(1).max(PORTS_MAX).describe('Ports and ranges of ports, e.g. 443 or "8000-8010"'),
  pools: z
    .array(PoolName)
    .min(1)
    .max(RULES_MAX)
    .optional()
    .describe('On nodes of these pools; control-plane: on control planes. Left out: on every node'),
};

export const AllowRule = z
  .strictObject({
    ...rule,
    from: networks.min(1).describe('Who may connect, e.g. 192.0.2.0/24; 0.0.0.0/0: from anywhere'),
  })
  .meta({ id: 'AllowRule', description: 'Connections to nodes that are accepted' });
export type AllowRule = z.infer<typeof AllowRule>;

export const EgressRule = z
  .strictObject({ ...rule, to: networks.min(1).describe('Where nodes may connect to') })
  .meta({ id: 'EgressRule', description: 'Connections of nodes that are accepted' });
export type EgressRule = z.infer<typeof EgressRule>;

/** What a firewall judges. */
export const FIREWALL_SCOPES = ['all', 'api'] as const;

/** In place of networks: whoever connects, from any address of any family. */
export const EVERYONE = 'everyone';

/** The firewall that a user declares. Ports that Kubernetes needs between nodes are opened implicitly. */
export const Firewall = z
  .strictObject({
    enabled: z.boolean().default(true).describe('false: the rules are kept, and are not in force'),
    nodes: networks
      .min(1)
      .optional()
      .describe(
        'Networks that only nodes of the cluster are in. Left out: the addresses of its nodes, so that each node that comes or goes changes the rules of all others',
      ),
    ssh: networks.optional().describe('Who may connect by SSH, besides Fairlead'),
    scope: z
      .enum(FIREWALL_SCOPES)
      .optional()
      .describe(
        'all: whatever is not listed is dropped. api: only connections to the Kubernetes API are judged, by nodes and api. Left out: all',
      ),
    api: z
      .union([z.literal(EVERYONE), networks], { error: `is neither ${EVERYONE} nor a list of networks` })
      .optional()
      .describe(
        `Who may connect to the Kubernetes API on control planes, besides nodes, pods and Fairlead: networks, or ${EVERYONE}`,
      ),
    nodePorts: networks.optional().describe('Who may connect to node ports, besides nodes and pods'),
    allow: z.array(AllowRule).max(RULES_MAX).optional(),
    egress: z
      .array(EgressRule)
      .min(1)
      .max(RULES_MAX)
      .optional()
      .describe(
        'Where nodes themselves may connect to, besides nodes, pods and DNS; pods are not concerned. Left out: anywhere',
      ),
  })
  .meta({ id: 'Firewall', description: 'The firewall of each node: connections that are not listed are dropped' });
export type Firewall = z.infer<typeof Firewall>;

/** Named sets of addresses in rules: from the cluster, or known to the node itself. */
export const ADDRESS_SETS = ['nodes', 'control-planes', 'pods'] as const;
export type AddressSet = (typeof ADDRESS_SETS)[number];

/** `@fairlead`: the addresses from which Fairlead has connected to the node. */
export const RuleSource = z.union([
  z.enum([...ADDRESS_SETS.map((set) => `@${set}` as const), '@fairlead', 'any']),
  Cidr,
]);
export type RuleSource = z.infer<typeof RuleSource>;

/** Protocols without ports are for networks and virtual addresses. */
export const FirewallRule = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
  protocol: z.enum(['tcp', 'udp', 'vrrp', 'ipip']),
  ports: z.array(z.string().regex(/^\d{1,5}(-\d{1,5})?$/)).max(PORTS_MAX),
  /** The sources of an inbound rule, or the destinations of an outbound one. */
  peers: z.array(RuleSource).min(1).max(SET_MAX),
});
export type FirewallRule = z.infer<typeof FirewallRule>;

/** Everything that a node needs to render its rules. */
export const NodeFirewall = z.strictObject({
  sets: z.strictObject({
    nodes: z.array(Cidr).max(SET_MAX),
    'control-planes': z.array(Cidr).max(SET_MAX),
    pods: z.array(Cidr).max(NETWORKS_MAX),
  }),
  inbound: z.array(FirewallRule).max(INBOUND_MAX),
  nodePorts: z.array(RuleSource).max(SET_MAX).describe('Who may connect to node ports'),
  closed: z
    .array(z.int().min(1).max(PORT_MAX))
    .min(1)
    .max(PORTS_MAX)
    .optional()
    .describe('Only these TCP ports are closed to others; absent: all ports'),
  outbound: z
    .array(FirewallRule)
    .max(4 * RULES_MAX)
    .optional()
    .describe('Absent: anywhere'),
});
export type NodeFirewall = z.infer<typeof NodeFirewall>;

/** The default node port range of kube-apiserver. */
export const NODE_PORTS = '30000-32767';

interface NamedRule {
  readonly name: string;
  readonly pools?: readonly string[] | undefined;
}

const ruleFaults = (list: string, rules: readonly NamedRule[], known: ReadonlySet<string>): readonly Refusal[] => {
  const names = rules.map(({ name }) => name);
  return rules.flatMap(({ name, pools = [] }, at) => [
    ...(names.indexOf(name) < at
      ? [refuse('firewall.rule-twice', { rule: name }, `spec.firewall.${list}[${at}].name`)]
      : []),
    ...pools
      .filter((pool) => !known.has(pool))
      .map((pool) => refuse('firewall.rule-pool', { rule: name, pool }, `spec.firewall.${list}[${at}].pools`)),
  ]);
};

/** Lists that only a firewall of all ports reads. */
const OF_ALL_PORTS = ['ssh', 'nodePorts', 'allow', 'egress'] as const;

const scopeFaults = (firewall: DeclaredRules): readonly Refusal[] =>
  firewall.scope === 'api'
    ? OF_ALL_PORTS.filter((list) => firewall[list] !== undefined).map((list) =>
        refuse('firewall.scope-unread', { list }, `spec.firewall.${list}`),
      )
    : [];

type DeclaredRules = Pick<Firewall, 'scope' | (typeof OF_ALL_PORTS)[number]>;

/** Duplicate rule names, pools that the manifest lacks, and lists without effect. */
export const firewallFaults = (firewall: DeclaredRules, pools: readonly string[]): readonly Refusal[] => {
  const { allow = [], egress = [] } = firewall;
  const known = new Set([...pools, CONTROL_PLANES]);
  return [...scopeFaults(firewall), ...ruleFaults('allow', allow, known), ...ruleFaults('egress', egress, known)];
};
