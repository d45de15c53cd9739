import type { AddressReport, VirtualAddress, VirtualAddressView } from '@fairlead/contracts';
import type { AddressFacts } from '../conditions/condition.facts.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import { isAway } from '../nodes/nodes.view.js';

type Witness = Pick<NodeDoc, 'name' | 'pool' | 'addresses' | 'isLost' | 'away' | 'network' | 'isRemoving'>;
type TransportReport = AddressReport['transports'][number];

/** What is known of a port of an address. What nodes say counts only for what is declared, and for nodes of the cluster. */
export interface TransportStatus {
  readonly name: string;
  readonly frontendPort: number;
  readonly reached: boolean;
  readonly up: number;
  readonly of: number;
  /** Whether each node behind it answers, as far as its holder says. */
  readonly upstreams: ReadonlyMap<string, boolean>;
}

export interface AddressStatus {
  readonly name: string;
  readonly address: string;
  /** null: no node that sends heartbeats says that it has the address. */
  readonly holder: string | null;
  /** When the holder said so; null: there is none. */
  readonly since: string | null;
  /** A node that may hold it is still being configured. */
  readonly isConfiguring: boolean;
  readonly transports: readonly TransportStatus[];
}

interface Claim {
  readonly node: string;
  readonly since: string;
  readonly report: AddressReport;
}

/** Nodes that say that they have the address, the latest first: it has moved to whoever said so last. */
const claimsOn = (name: string, nodes: readonly Witness[]): readonly Claim[] =>
  nodes
    .flatMap((node): readonly Claim[] => {
      const report = isAway(node) ? undefined : node.addresses?.reports.find((one) => one.name === name);
      return report?.held === true && node.addresses !== undefined
        ? [{ node: node.name, since: node.addresses.since, report }]
        : [];
    })
    .toSorted((one, other) => (one.since < other.since ? 1 : -1));

const transportStatus = (
  { name, frontendPort }: VirtualAddress['transports'][number],
  report: TransportReport | undefined,
  known: ReadonlySet<string>,
): TransportStatus => ({
  name,
  frontendPort,
  reached: report?.reached === true,
  up: Math.min(report?.up ?? 0, report?.of ?? 0),
  of: report?.of ?? 0,
  upstreams: new Map(Object.entries(report?.upstreams ?? {}).filter(([node]) => known.has(node))),
});

/** How the declared addresses of a cluster are, by what its nodes said last. */
export const addressStatuses = (
  declared: readonly VirtualAddress[],
  nodes: readonly Witness[],
): readonly AddressStatus[] => {
  const known = new Set<string>(nodes.map(({ name }) => name));
  return declared.map(({ name, address, holders, transports }) => {
    const [claim] = claimsOn(name, nodes);
    const own = (transport: string): TransportReport | undefined =>
      claim?.report.transports.find((one) => one.name === transport);
    return {
      name,
      address,
      holder: claim?.node ?? null,
      since: claim?.since ?? null,
      isConfiguring: nodes.some(
        ({ pool, network, isRemoving }) =>
          !isRemoving && holders.includes(pool) && (network === undefined || network.state === 'waiting'),
      ),
      transports: transports.map((transport) => transportStatus(transport, own(transport.name), known)),
    };
  });
};

/** How the address of the Kubernetes API is that control planes of a cluster share. */
export interface ApiAddressStatus {
  /** How many control planes hold it: one, if all is well. */
  readonly holders: number;
  /** Whether each API server passes the health check of the balancer, as far as the holder says. */
  readonly upstreams: ReadonlyMap<string, boolean>;
}

type ApiWitness = Pick<NodeDoc, 'name' | 'apiAddress' | 'isLost' | 'away' | 'isRemoving'>;

/** Nodes that are away, or leave, hold nothing, whatever they said last. */
export const apiAddressStatus = (nodes: readonly ApiWitness[]): ApiAddressStatus => {
  const known = new Set<string>(nodes.map(({ name }) => name));
  const claims = nodes
    .flatMap((node) => (node.apiAddress?.held === true && !isAway(node) && !node.isRemoving ? [node.apiAddress] : []))
    .toSorted((one, other) => (one.since < other.since ? 1 : -1));
  const upstreams = Object.entries(claims[0]?.upstreams ?? {}).filter(([node]) => known.has(node));
  return { holders: claims.length, upstreams: new Map(upstreams) };
};

/** One control plane holds it, and some API server answers behind it. */
export const isApiAddressUp = ({ holders, upstreams }: ApiAddressStatus): boolean =>
  holders === 1 && (upstreams.size === 0 || [...upstreams.values()].some(Boolean));

/** Clients get an answer on every port. */
export const isAddressUp = ({ holder, transports }: AddressStatus): boolean =>
  holder !== null && transports.every(({ reached, up }) => reached && up > 0);

/** A view names no more nodes than these. */
const DOWN_NAMED_MAX = 20;

export const addressView = (status: AddressStatus): VirtualAddressView => {
  const { name, address, holder, since, transports } = status;
  return {
    name,
    address,
    holder,
    since,
    transports: transports.map(({ upstreams, ...transport }) => ({
      ...transport,
      down: [...upstreams].flatMap(([node, isUp]) => (isUp ? [] : [node])).slice(0, DOWN_NAMED_MAX),
    })),
  };
};

/** What the conditions of a cluster have to know. */
export const addressFacts = (statuses: readonly AddressStatus[]): readonly AddressFacts[] =>
  statuses.map(({ name, address, holder, since, isConfiguring, transports }) => ({
    name,
    address,
    holder,
    since,
    isConfiguring,
    unreached: transports.filter(({ reached }) => !reached).map((one) => one.name),
    empty: transports.filter(({ up }) => up === 0).map((one) => one.name),
  }));
