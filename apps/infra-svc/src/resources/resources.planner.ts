import { fnv1a32, type ConnectionName, type SecretRef } from '@fairlead/contracts';
import { generationRef } from '@fairlead/domain';
import type { Connection, Firewall, FirewallRule, Network } from '../providers/provider.ports.js';

/** A connection may name the network that its machines must be in, e.g. to keep two connections apart. */
const NETWORK_CIDR_SETTING = 'networkCidr';

const ANYWHERE = '0.0.0.0/0';
const KUBELET_PORT = 10_250;

/** A connection may name the networks of others whose machines are in the same clusters. */
const PEER_NETWORKS_SETTING = 'peerNetworks';

/**
 * What Kubernetes nodes need from outside of their network (kubernetes.io, "Ports and Protocols"): SSH for the bootstrap;
 * the API, balanced (9998 is CB-Ladybug's port for it) and direct; node ports; VXLAN of canal and WireGuard of kilo. All control
 * planes are in one network, so etcd and the components of the control plane are not open to others.
 */
const OPEN_PORTS: readonly (readonly [protocol: 'tcp' | 'udp', from: number, to: number])[] = [
  ['tcp', 22, 22],
  ['tcp', 6443, 6443],
  ['tcp', 9998, 9998],
  ['tcp', 30000, 32767],
  ['udp', 30000, 32767],
  ['udp', 8472, 8472],
  ['udp', 51820, 51820],
];

/**
 * The /24 that a connection's machines are in. It follows from the connection's name, so that two connections of one
 * cluster rarely get the same private addresses (CB-Ladybug draws it for that reason, its issue #124).
 */
export const networkOf = ({ name, settings }: Connection): Network => {
  const desired = settings[NETWORK_CIDR_SETTING];
  return {
    name: `${name}-vpc`,
    subnet: `${name}-subnet`,
    cidr: typeof desired === 'string' ? desired : `192.168.${fnv1a32(name) % 256}.0/24`,
  };
};

/** Everything between the machines of a network, and from outside only what Kubernetes needs. */
export const firewallOf = ({ name, settings }: Pick<Connection, 'name' | 'settings'>, network: Network): Firewall => {
  const within = (['tcp', 'udp'] as const).map((protocol): FirewallRule => ({
    protocol,
    ports: { from: 1, to: 65_535 },
    source: network.cidr,
  }));
  const outside = OPEN_PORTS.map(([protocol, from, to]): FirewallRule => ({
    protocol,
    ports: { from, to },
    source: ANYWHERE,
  }));
  const peers = settings[PEER_NETWORKS_SETTING];
  // API servers ask the kubelets of nodes on other connections.
  const among = (Array.isArray(peers) ? peers : []).map((source): FirewallRule => ({
    protocol: 'tcp',
    ports: { from: KUBELET_PORT, to: KUBELET_PORT },
    source: String(source),
  }));
  return {
    name: `${name}-sg`,
    rules: [...within, ...among, ...outside, { protocol: 'icmp', ports: null, source: ANYWHERE }],
  };
};

/** What the key of a connection is called at the provider. No two connections share a name: what follows the last `-sshkey` is a number. */
export const sshKeyName = (connection: ConnectionName, generation: number): string =>
  generation === 1 ? `${connection}-sshkey` : `${connection}-sshkey-${generation}`;

/** Where the private half of the connection's SSH key is sealed. */
export const sshKeyRef = (connection: ConnectionName, generation: number): SecretRef =>
  generationRef(`infra-svc.ssh-key.${connection}`, generation);

/** The key that opens a machine: the one that its provider names, if it is one of ours, or else the current one. */
export const keyRefOf = (connection: ConnectionName, sshKey: string | undefined, current: SecretRef): SecretRef =>
  (sshKey === undefined ? undefined : sshKeyRefNamed(connection, sshKey)) ?? current;

/** The key behind a name that a provider reports; undefined: it is none of ours. */
export const sshKeyRefNamed = (connection: ConnectionName, name: string): SecretRef | undefined => {
  const first = sshKeyName(connection, 1);
  if (name === first) return sshKeyRef(connection, 1);
  const number = name.startsWith(`${first}-`) ? name.slice(first.length + 1) : '';
  return /^[1-9]\d{0,8}$/.test(number) ? sshKeyRef(connection, Number(number)) : undefined;
};
