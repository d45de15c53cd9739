import {
  CONTROL_PLANE_POOL,
  durationMs,
  inventoryAddresses,
  inventoryOf,
  isInNetwork,
  isIpv6Address,
  isSameAddress,
  nearestOf,
  nodeAddressOf,
  refuse,
  traitsOf,
  type DeclaredSpec,
  type Refusal,
  type SshSettings,
  type Transport,
  type VirtualAddress,
} from '@fairlead/contracts';
import type { RegisteredConnection } from '@fairlead/domain';
import ipaddr from 'ipaddr.js';

/** What the addresses of a cluster must not disturb. */
export interface AddressSurroundings {
  readonly connections: ReadonlyMap<string, RegisteredConnection>;
  /** Addresses that something has already, by what has them. */
  readonly taken: ReadonlyMap<string, string>;
}

type Addressed = Pick<DeclaredSpec, 'controlPlane' | 'pools' | 'network' | 'virtualAddresses'>;

const canHold = (connection: RegisteredConnection | undefined): boolean => {
  if (connection === undefined) return false;
  const { sharedNetwork } = traitsOf(connection.provider);
  return typeof sharedNetwork === 'boolean' ? sharedNetwork : connection.settings[sharedNetwork.setting] === true;
};

/** Where nodes listen on every address: haproxy could not, or would take connections that are meant for others. */
const NODE_PORTS: readonly { readonly from: number; readonly to: number; readonly what: string }[] = [
  { from: 22, to: 22, what: 'the SSH server' },
  { from: 179, to: 179, what: 'BGP of the pod network' },
  { from: 2379, to: 2381, what: 'etcd' },
  { from: 6443, to: 6443, what: 'the Kubernetes API server' },
  { from: 10_248, to: 10_259, what: 'the kubelet and other components of Kubernetes' },
  { from: 30_000, to: 32_767, what: 'services of type NodePort, which kube-proxy answers on every address' },
];

const INTERVAL_MS = { min: 1_000, max: 60_000 } as const;

const poolFault = (spec: Addressed, pool: string, field: string): readonly Refusal[] => {
  const known = [CONTROL_PLANE_POOL, ...spec.pools.map(({ name }) => name)];
  if (known.includes(pool)) return [];
  const near = nearestOf(pool, known);
  const hint = near === undefined ? `; declared are ${known.join(', ')}` : `; did you mean ${near}?`;
  return [refuse('address.pool-unknown', { pool, hint }, field)];
};

const connectionOf = ({ controlPlane, pools }: Addressed, pool: string): string | undefined =>
  pool === CONTROL_PLANE_POOL
    ? controlPlane.connection
    : (pools.find(({ name }) => name === pool)?.connection as string | undefined);

/** Nodes that hold an address in turn, and nodes that they send to, are in one network. */
const networkFaults = (
  spec: Addressed,
  { name, holders }: VirtualAddress,
  { connections }: AddressSurroundings,
  field: string,
): readonly Refusal[] => {
  const names = [...new Set(holders.flatMap((pool) => connectionOf(spec, pool) ?? []))];
  const other = names.find((connection) => !canHold(connections.get(connection)));
  if (other !== undefined) {
    const provider = connections.get(other)?.provider ?? 'unknown';
    return [refuse('address.provider', { address: name, connection: other, provider }, `${field}.holders`)];
  }
  return names.length > 1
    ? [refuse('address.networks', { address: name, connections: names.join(', ') }, `${field}.holders`)]
    : [];
};

const UNUSABLE: ReadonlySet<string> = new Set([
  'unspecified',
  'broadcast',
  'multicast',
  'linkLocal',
  'loopback',
  'ipv4Mapped',
]);

const inventoryIn = ({ connections }: AddressSurroundings, name: string): SshSettings | undefined => {
  const connection = connections.get(name);
  return connection === undefined ? undefined : inventoryOf(connection);
};

/** Addresses that nodes of a connection have or could have, by its settings. */
const nodeAddressesIn = (surroundings: AddressSurroundings, name: string): readonly string[] => {
  const { nodeAddress } = traitsOf(surroundings.connections.get(name)?.provider ?? '');
  const hosts = inventoryIn(surroundings, name)?.hosts.map(nodeAddressOf) ?? [];
  return nodeAddress === undefined ? hosts : [nodeAddress];
};

/** Nodes agree by VRRP over their own addresses, and keepalived wants an address of the same family. */
const familyFaults = (
  address: string,
  connection: string,
  surroundings: AddressSurroundings,
  field: string,
): readonly Refusal[] => {
  const node = nodeAddressesIn(surroundings, connection).find((host) => isIpv6Address(host) !== isIpv6Address(address));
  return node === undefined ? [] : [refuse('address.family', { address, connection, node }, `${field}.address`)];
};

/** What Fairlead and the provider know to have an address. */
const takenBy = (address: string, surroundings: AddressSurroundings, names: readonly string[]): string | undefined => {
  const owners = names.flatMap((name) => {
    const settings = inventoryIn(surroundings, name);
    return settings === undefined ? [] : inventoryAddresses(name, settings);
  });
  const all = [...owners, ...[...surroundings.taken].map(([has, owner]) => ({ address: has, owner }))];
  return all.find((known) => isSameAddress(known.address, address))?.owner;
};

const addressFaults = (spec: Addressed, at: number, surroundings: AddressSurroundings): readonly Refusal[] => {
  const { virtualAddresses = [], network } = spec;
  const { name, address, holders } = virtualAddresses[at]!;
  const field = `spec.virtualAddresses[${at}]`;
  const before = virtualAddresses.slice(0, at);
  const first = before.find((other) => isSameAddress(other.address, address));
  const range = ipaddr.parse(address).range();
  const within = [
    { cidr: network.podCidr, what: 'pods' },
    { cidr: network.serviceCidr, what: 'services' },
  ].find(({ cidr }) => isInNetwork(address, cidr));
  const names = [...new Set(holders.flatMap((pool) => connectionOf(spec, pool) ?? []))];
  const owner = takenBy(address, surroundings, names);
  return [
    ...(before.some((other) => other.name === name)
      ? [refuse('address.name-taken', { address: name }, `${field}.name`)]
      : []),
    ...(first === undefined ? [] : [refuse('address.taken', { address, owner: first.name }, `${field}.address`)]),
    ...(UNUSABLE.has(range) ? [refuse('address.unusable', { address, range }, `${field}.address`)] : []),
    ...(within === undefined
      ? []
      : [refuse('address.in-cluster', { address, network: within.cidr, what: within.what }, `${field}.address`)]),
    ...(owner === undefined ? [] : [refuse('address.taken', { address, owner }, `${field}.address`)]),
    ...holders.flatMap((pool, index) => poolFault(spec, pool, `${field}.holders[${index}]`)),
    ...networkFaults(spec, virtualAddresses[at]!, surroundings, field),
    ...names.flatMap((connection) => familyFaults(address, connection, surroundings, field)),
  ];
};

/** The API is balanced on a port of the control planes, where their connection says which. */
const apiPortOf = (spec: Addressed, surroundings: AddressSurroundings): number | undefined =>
  inventoryIn(surroundings, spec.controlPlane.connection)?.apiPort;

const portFaults = (
  { name, frontendPort, backendPort }: Transport,
  before: readonly Transport[],
  apiPort: number | undefined,
  field: string,
): readonly Refusal[] => {
  const port = frontendPort;
  const first = before.find((other) => other.frontendPort === port);
  const listener =
    port === apiPort
      ? 'the balanced Kubernetes API'
      : NODE_PORTS.find(({ from, to }) => port >= from && port <= to)?.what;
  return [
    ...(first === undefined
      ? []
      : [refuse('transport.port-twice', { transport: name, port, first: first.name }, `${field}.frontendPort`)]),
    ...(listener === undefined
      ? []
      : [refuse('transport.port-used', { transport: name, port, what: listener }, `${field}.frontendPort`)]),
    ...(port === backendPort ? [refuse('transport.port-same', { transport: name, port }, `${field}.backendPort`)] : []),
  ];
};

const transportFaults = (
  spec: Addressed,
  [at, index]: readonly [number, number],
  surroundings: AddressSurroundings,
): readonly Refusal[] => {
  const { address, transports } = (spec.virtualAddresses ?? [])[at]!;
  const transport = transports[index]!;
  const { name, allow, backends, healthCheck } = transport;
  const field = `spec.virtualAddresses[${at}].transports[${index}]`;
  const before = transports.slice(0, index);
  const every = durationMs(healthCheck.interval);
  return [
    ...(before.some((other) => other.name === name)
      ? [refuse('transport.name-taken', { transport: name }, `${field}.name`)]
      : []),
    ...portFaults(transport, before, apiPortOf(spec, surroundings), field),
    ...backends.flatMap((pool, place) => poolFault(spec, pool, `${field}.backends[${place}]`)),
    ...(allow.some((network) => isIpv6Address(network) === isIpv6Address(address))
      ? []
      : [refuse('transport.allow-family', { transport: name, address }, `${field}.allow`)]),
    ...(every >= INTERVAL_MS.min && every <= INTERVAL_MS.max
      ? []
      : [refuse('transport.interval', { given: healthCheck.interval }, `${field}.healthCheck.interval`)]),
  ];
};

/** Everything that is wrong with the virtual addresses of a cluster, each with its place. */
export const virtualAddressFaults = (spec: Addressed, surroundings: AddressSurroundings): readonly Refusal[] =>
  (spec.virtualAddresses ?? []).flatMap(({ transports }, at) => [
    ...addressFaults(spec, at, surroundings),
    ...transports.flatMap((_, index) => transportFaults(spec, [at, index], surroundings)),
  ]);
