import {
  cloudControllerFault,
  hasRoles,
  rolesFault,
  inventoryOf,
  apiAddressesOf,
  CONTROL_PLANE_POOL,
  isInNetwork,
  isSameAddress,
  networksOverlap,
  refuse,
  type ClusterSpec,
  type ConnectionName,
  type ConnectionOffer,
  type KnownAddress,
  type MachineSpec,
  type NodeRole,
  type NodeSet,
  type Refusal,
} from '@fairlead/contracts';
import type { Connection, Region } from '../providers/provider.ports.js';
import type { Surroundings } from '../resources/surroundings.planner.js';

/** kubeadm's preflight requires 2 CPUs on a control plane; CB-Ladybug requires 2 GiB everywhere. */
const CONTROL_PLANE_CPUS_MIN = 2;
const MEMORY_GIB_MIN = 2;

/** A node set with its position in the request, so that a refusal can name the field. */
export interface PlacedSet {
  readonly set: NodeSet;
  readonly role: NodeRole;
  readonly field: string;
}

export const placedWorkers = (workers: readonly NodeSet[]): readonly PlacedSet[] =>
  workers.map((set, at) => ({ set, role: 'worker', field: `worker[${at}]` }));

/** The nodes in a request for more. */
export interface RequestedNodes {
  readonly workers: readonly NodeSet[];
  readonly controlPlane?: NodeSet | undefined;
}

export const placedNodes = ({ workers, controlPlane }: RequestedNodes): readonly PlacedSet[] => [
  ...(controlPlane === undefined ? [] : [{ set: controlPlane, role: 'control-plane', field: 'controlPlane' } as const]),
  ...placedWorkers(workers),
];

export const placedSets = (spec: ClusterSpec): readonly PlacedSet[] => [
  { set: spec.controlPlane, role: 'control-plane', field: 'controlPlane[0]' },
  ...placedWorkers(spec.workers),
];

/** Each connection once, in the order of the request. */
export const connectionsOf = (sets: readonly PlacedSet[]): readonly ConnectionName[] => [
  ...new Set(sets.map(({ set }) => set.connection)),
];

/** The field of the first set that uses a connection. */
export const fieldOf = (sets: readonly PlacedSet[], connection: ConnectionName): string => {
  const first = sets.find(({ set }) => set.connection === connection);
  return first === undefined ? 'connection' : `${first.field}.connection`;
};

/** The requested machines on one connection: the size of each, and how many of them are control planes. */
export const capacityFor = (
  sets: readonly PlacedSet[],
  connection: ConnectionName,
): { readonly specs: readonly string[]; readonly controlPlanes: number } => {
  const own = sets.filter(({ set }) => set.connection === connection);
  return {
    specs: own.flatMap(({ set }) => Array.from({ length: set.count }, () => set.spec)),
    controlPlanes: own.reduce((sum, { set, role }) => (role === 'control-plane' ? sum + set.count : sum), 0),
  };
};

/** The first refusal of several checks, in their order. */
export const firstOf = <T>(items: readonly T[], check: (item: T) => Refusal | undefined): Refusal | undefined => {
  for (const item of items) {
    const refusal = check(item);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
};

/** Checks that the machine sizes exist and are large enough for a node. */
export const checkSpecs = (
  sets: readonly PlacedSet[],
  connection: Connection,
  specs: readonly MachineSpec[],
): Refusal | undefined =>
  firstOf(
    sets.filter(({ set }) => set.connection === connection.name),
    ({ set, role, field: place }) => {
      const field = `${place}.spec`;
      const found = specs.find(({ name }) => name === set.spec);
      const { name, provider } = connection;
      if (found === undefined)
        return refuse('cluster.spec-unknown', { spec: set.spec, connection: name, provider }, field);
      if (role === 'control-plane' && found.cpuCount < CONTROL_PLANE_CPUS_MIN)
        return refuse('cluster.spec-cpu', { spec: set.spec, provider, cpu: found.cpuCount }, field);
      if (found.memoryGiB < MEMORY_GIB_MIN)
        return refuse('cluster.spec-memory', { spec: set.spec, provider, memory: found.memoryGiB }, field);
      return undefined;
    },
  );

/** The zones for a connection's machines; undefined: it has a zone that the region does not have. */
export const zonesOf = (connection: Connection, region: Region): readonly string[] | undefined => {
  if (connection.zone === '') return region.zones;
  return region.zones.includes(connection.zone) ? [connection.zone] : undefined;
};

export const checkRegion = (connection: Connection, region: Region | undefined, field: string): Refusal | undefined => {
  if (region === undefined) return refuse('cluster.region-unknown', { region: connection.region }, field);
  if (zonesOf(connection, region) !== undefined) return undefined;
  return refuse('cluster.region-unknown', { region: `${connection.region}/${connection.zone}` }, field);
};

/** Checks that the zones of pools and of the control plane are zones of their connection. */
export const checkZones = (
  sets: readonly PlacedSet[],
  connection: Connection,
  region: Region | undefined,
): Refusal | undefined => {
  const known = region === undefined ? [] : (zonesOf(connection, region) ?? []);
  return firstOf(
    sets.filter(({ set }) => set.connection === connection.name),
    ({ set: { zones = [], pool = CONTROL_PLANE_POOL }, field }) => {
      const zone = zones.find((name) => !known.includes(name));
      if (zone === undefined) return undefined;
      const values = { connection: connection.name, zone, pool, zones: known.join(', ') };
      return refuse('pool.zone-unknown', values, `${field}.zones`);
    },
  );
};

export const checkNlb = (spec: ClusterSpec, offer: ConnectionOffer): Refusal | undefined =>
  spec.kubernetes.loadbalancer === 'nlb' && !offer.capabilities.nlb
    ? refuse('cluster.nlb-unsupported', { provider: offer.provider }, 'config.kubernetes.loadbalancer')
    : undefined;

/** Whether the connection of the control planes lets the cluster have its cloud controller. */
export const checkCloudController = (spec: ClusterSpec, connection: Connection): Refusal | undefined =>
  cloudControllerFault(spec.cloudController, connection, 'controlPlane[0].connection') ??
  (hasRoles(spec) ? rolesFault(spec) : undefined);

/**
 * The networks of pods and services must not overlap that of their machines, nor contain addresses that the machines
 * use.
 */
export const checkNetwork = (
  { kubernetes: { podCidr, serviceCidr } }: ClusterSpec,
  { connection, cidr, addresses }: Surroundings,
): Refusal | undefined => {
  const ranges = [
    { first: podCidr, field: 'config.kubernetes.podCidr' },
    { first: serviceCidr, field: 'config.kubernetes.serviceCidr' },
  ];
  return firstOf(ranges, ({ first, field }) => {
    if (cidr !== undefined && networksOverlap(first, cidr))
      return refuse('cluster.network-overlap', { first, second: cidr, connection }, field);
    const known = addresses.find(({ address }) => isInNetwork(address, first));
    return known === undefined ? undefined : refuse('cluster.network-address', { first, ...known }, field);
  });
};

/**
 * keepalived takes the API address over from any holder, so it must not belong to a host of the cluster, nor to
 * Fairlead.
 */
export const checkApiAddresses = (
  connection: Pick<Connection, 'name' | 'provider' | 'settings'>,
  others: readonly KnownAddress[],
): Refusal | undefined => {
  const { name } = connection;
  const inventory = inventoryOf(connection);
  return firstOf(inventory === undefined ? [] : apiAddressesOf(inventory), (address) => {
    const own = `apiAddress of connection ${name}`;
    const known = others.find((other) => other.owner !== own && isSameAddress(other.address, address));
    if (known === undefined) return undefined;
    return refuse('connection.api-address-in-use', { connection: name, ...known }, 'controlPlane[0].connection');
  });
};
