import { NFT_TABLE, NODE_PORTS, type FirewallRule, type NodeFirewall, type RuleSource } from '@fairlead/contracts';

type Family = 'v4' | 'v6';
const FAMILIES: readonly Family[] = ['v4', 'v6'];
const TYPES: Readonly<Record<Family, string>> = { v4: 'ipv4_addr', v6: 'ipv6_addr' };
const SOURCE: Readonly<Record<Family, string>> = { v4: 'ip saddr', v6: 'ip6 saddr' };
const DESTINATION: Readonly<Record<Family, string>> = { v4: 'ip daddr', v6: 'ip6 daddr' };

/** IANA protocol numbers, so that hosts do not need /etc/protocols. */
const NUMBERS = { vrrp: 112, ipip: 4 } as const;

const isOf = (family: Family, address: string): boolean => address.includes(':') === (family === 'v6');

const setText = (name: string, family: Family, addresses: readonly string[]): readonly string[] => {
  const own = addresses.filter((address) => isOf(family, address));
  return [
    `  set ${name}_${family} {`,
    `    type ${TYPES[family]}; flags interval; auto-merge`,
    ...(own.length === 0 ? [] : [`    elements = { ${own.join(', ')} }`]),
    '  }',
  ];
};

const SETS: Readonly<Record<Extract<RuleSource, `@${string}`>, string>> = {
  '@nodes': 'nodes',
  '@control-planes': 'control_planes',
  '@pods': 'pods',
  '@fairlead': 'fairlead',
};

const isSet = (peer: RuleSource): peer is keyof typeof SETS => peer in SETS;

const portsMatch = ({ protocol, ports }: Pick<FirewallRule, 'protocol' | 'ports'>): string => {
  if (protocol === 'vrrp' || protocol === 'ipip') return `meta l4proto ${NUMBERS[protocol]}`;
  return ports.length === 0 ? `meta l4proto ${protocol}` : `${protocol} dport { ${ports.join(', ')} }`;
};

interface Peers {
  /** The set with the addresses in the rule itself. */
  readonly own: string;
  readonly match: Readonly<Record<Family, string>>;
}

const accepting = (rule: FirewallRule, { own, match }: Peers): readonly string[] => {
  const what = `${portsMatch(rule)} accept comment "${rule.name}"`;
  if (rule.peers.includes('any')) return [`    ${what}`];
  const sets = rule.peers.filter(isSet).map((peer) => SETS[peer]);
  const addresses = rule.peers.filter((peer) => !isSet(peer));
  return FAMILIES.flatMap((family) => [
    ...sets.map((set) => `    ${match[family]} @${set}_${family} ${what}`),
    ...(addresses.some((address) => isOf(family, address)) ? [`    ${match[family]} @${own}_${family} ${what}`] : []),
  ]);
};

const ownSets = (prefix: string, rules: readonly FirewallRule[]): readonly string[] =>
  rules.flatMap(({ peers }, at) => {
    const addresses = peers.filter((peer) => !isSet(peer) && peer !== 'any');
    return FAMILIES.filter((family) => addresses.some((address) => isOf(family, address))).flatMap((family) =>
      setText(`${prefix}_${at}`, family, addresses),
    );
  });

const chain = (name: string, lines: readonly string[]): readonly string[] => [`  chain ${name} {`, ...lines, '  }'];

const rulesOf = (prefix: string, rules: readonly FirewallRule[], match: Peers['match']): readonly string[] =>
  rules.flatMap((rule, at) => accepting(rule, { own: `${prefix}_${at}`, match }));

const nodePortRules = ({ nodePorts }: NodeFirewall): readonly FirewallRule[] =>
  (['tcp', 'udp'] as const).map((protocol) => ({
    name: `node-ports-${protocol}`,
    protocol,
    ports: [NODE_PORTS],
    peers: nodePorts,
  }));

/** Responses, and protocols that every address needs. */
const BASICS: readonly string[] = [
  '    icmp type { echo-request, destination-unreachable, time-exceeded, parameter-problem } accept',
  '    meta l4proto ipv6-icmp accept',
];

const outputOf = (outbound: readonly FirewallRule[]): readonly string[] =>
  chain('output', [
    '    type filter hook output priority filter; policy drop;',
    '    ct state established,related accept',
    '    oif "lo" accept',
    ...BASICS,
    '    udp sport 68 udp dport 67 accept',
    '    udp sport 546 udp dport 547 accept',
    ...rulesOf('outbound', outbound, DESTINATION),
  ]);

/** What becomes of a connection that no rule accepts. */
const otherwise = ({ closed }: NodeFirewall): readonly string[] =>
  closed === undefined ? ['    drop'] : [`    tcp dport { ${closed.join(', ')} } drop`, '    accept'];

/**
 * The rules of a node as text for `nft -f`, which replaces the table atomically. Traffic to the host is filtered before
 * destination NAT, because node ports and host ports of pods are forwarded after it; forwarded traffic, such as that of
 * pods, is not filtered.
 */
export const nftablesRules = (firewall: NodeFirewall, fairlead: readonly string[]): string => {
  const { sets, outbound } = firewall;
  // Where only some ports are closed, those of services are not.
  const inbound = [...firewall.inbound, ...(firewall.closed === undefined ? nodePortRules(firewall) : [])];
  return `${[
    '# Written by Fairlead.',
    `table ${NFT_TABLE} {}`,
    `delete table ${NFT_TABLE}`,
    `table ${NFT_TABLE} {`,
    ...FAMILIES.flatMap((family) => [
      ...setText('nodes', family, sets.nodes),
      ...setText('control_planes', family, sets['control-planes']),
      ...setText('pods', family, sets.pods),
      ...setText('fairlead', family, fairlead),
    ]),
    ...ownSets('inbound', inbound),
    ...(outbound === undefined ? [] : ownSets('outbound', outbound)),
    ...chain('to_host', [
      ...BASICS,
      '    udp sport 67 udp dport 68 accept',
      '    udp sport 547 udp dport 546 accept',
      ...rulesOf('inbound', inbound, SOURCE),
      ...otherwise(firewall),
    ]),
    ...chain('prerouting', [
      '    type filter hook prerouting priority mangle; policy accept;',
      '    ct state established,related accept',
      '    iif "lo" accept',
      '    fib daddr type local goto to_host',
    ]),
    ...chain('input', [
      '    type filter hook input priority filter; policy drop;',
      '    ct state established,related accept',
      '    iif "lo" accept',
      '    # It was addressed to a port that is open, and a pod in the network of this host serves it.',
      '    ct status dnat accept',
      '    goto to_host',
    ]),
    ...(outbound === undefined ? [] : outputOf(outbound)),
    '}',
  ].join('\n')}\n`;
};
