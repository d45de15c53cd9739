import { EVERYONE, fnv1a32, type ConnectionName, type SecretRef } from '@fairlead/contracts';
import { generationRef } from '@fairlead/domain';
import type { Connection, Firewall, FirewallRule, Network } from '../providers/provider.ports.js';

/** The setting for the network of a connection's machines, e.g. to separate two connections. */
const NETWORK_CIDR_SETTING = 'networkCidr';

const ANYWHERE = '0.0.0.0/0';
const KUBELET_PORT = 10_250;

/** The setting for networks of other connections whose machines are in the same clusters. */
const PEER_NETWORKS_SETTING = 'peerNetworks';

/**
 * The ports of Kubernetes nodes that must be open to other networks (kubernetes.io, "Ports and Protocols"): SSH for the
 * bootstrap; node ports; VXLAN of canal and WireGuard of kilo. All control planes are in one network, so etcd and
 * control plane components are not open to others.
 */
const OPEN_PORTS: readonly (readonly [protocol: 'tcp' | 'udp', from: number, to: number])[] = [
  ['tcp', 22, 22],
  ['tcp', 30000, 32767],
  ['udp', 30000, 32767],
  ['udp', 8472, 8472],
  ['udp', 51820, 51820],
];

/** Of the Kubernetes API: direct, and load-balanced (CB-Ladybug's port for it). */
const API_PORTS = [6443, 9998];

/** The setting for networks that may connect to the API. */
const API_NETWORKS_SETTING = 'apiNetworks';

/**
 * The /24 network of a connection's machines. Derived from the connection's name, so that two connections of one
 * cluster rarely have the same private addresses (CB-Ladybug chooses it randomly for that reason, its issue #124).
 */
export const networkOf = ({ name, settings }: Connection): Network => {
  const desired = settings[NETWORK_CIDR_SETTING];
  return {
    name: `${name}-vpc`,
    subnet: `${name}-subnet`,
    cidr: typeof desired === 'string' ? desired : `192.168.${fnv1a32(name) % 256}.0/24`,
  };
};

/** Allows all traffic between machines of a network, and from outside only what Kubernetes needs. */
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
  const admitted = settings[API_NETWORKS_SETTING] ?? EVERYONE;
  const clients = (Array.isArray(admitted) ? admitted : [ANYWHERE]).flatMap((source) =>
    API_PORTS.map((port): FirewallRule => ({
      protocol: 'tcp',
      ports: { from: port, to: port },
      source: String(source),
    })),
  );
  const peers = settings[PEER_NETWORKS_SETTING];
  // API servers connect to kubelets of nodes on other connections.
  const among = (Array.isArray(peers) ? peers : []).map((source): FirewallRule => ({
    protocol: 'tcp',
    ports: { from: KUBELET_PORT, to: KUBELET_PORT },
    source: String(source),
  }));
  return {
    name: `${name}-sg`,
    rules: [...within, ...among, ...clients, ...outside, { protocol: 'icmp', ports: null, source: ANYWHERE }],
  };
};

/** The name of a connection's key at the provider. Unique, because everything after the last `-sshkey` is a number. */
export const sshKeyName = (connection: ConnectionName, generation: number): string =>
  generation === 1 ? `${connection}-sshkey` : `${connection}-sshkey-${generation}`;

/** Where the private half of the connection's SSH key is sealed. */
export const sshKeyRef = (connection: ConnectionName, generation: number): SecretRef =>
  generationRef(`infra-svc.ssh-key.${connection}`, generation);

/** The key that opens a machine: the one that its provider reports, if it is Fairlead's, otherwise the current one. */
export const keyRefOf = (connection: ConnectionName, sshKey: string | undefined, current: SecretRef): SecretRef =>
  (sshKey === undefined ? undefined : sshKeyRefNamed(connection, sshKey)) ?? current;

/** The key with a name that a provider reports; undefined: it is not Fairlead's. */
export const sshKeyRefNamed = (connection: ConnectionName, name: string): SecretRef | undefined => {
  const first = sshKeyName(connection, 1);
  if (name === first) return sshKeyRef(connection, 1);
  const number = name.startsWith(`${first}-`) ? name.slice(first.length + 1) : '';
  return /^[1-9]\d{0,8}$/.test(number) ? sshKeyRef(connection, Number(number)) : undefined;
};
