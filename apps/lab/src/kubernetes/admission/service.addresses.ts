import ipaddr from 'ipaddr.js';
import type { Service } from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';

export interface AddressRange {
  readonly size: number;
  readonly at: (offset: number) => string;
}

/** An IPv4 network ("10.96.0.0/12") from which addresses are allocated. */
export const addressRange = (cidr: string): AddressRange => {
  const [, bits] = ipaddr.IPv4.parseCIDR(cidr);
  const start = ipaddr.IPv4.networkAddressFromCIDR(cidr)
    .toByteArray()
    .reduce((sum, byte) => sum * 256 + byte, 0);
  return {
    size: 2 ** (32 - bits),
    at: (offset) => [24, 16, 8, 0].map((shift) => Math.floor((start + offset) / 2 ** shift) % 256).join('.'),
  };
};

/** The IPv4 address at an offset from the start of a network ("10.96.0.0/12", 10 is 10.96.0.10). */
export const addressIn = (cidr: string, offset: number): string => addressRange(cidr).at(offset);

/**
 * The first addresses of the service network are reserved for well-known services: .1 for the API server, .10 for
 * kubeadm's DNS.
 */
const FIRST_DYNAMIC_OFFSET = 16;
const NODE_PORT_MIN = 30_000;
const NODE_PORT_MAX = 32_767;

/** Allocates the cluster IP and node ports of a service, as the API server does. Returns undefined if none is free. */
export const withAddresses = (
  draft: Draft<Service>,
  { serviceCidr, services }: { readonly serviceCidr: string; readonly services: readonly Service[] },
): Draft<Service> | undefined => {
  const { type = 'ClusterIP', clusterIP } = draft.spec;
  if (type === 'ExternalName') return draft;
  const address = clusterIP === undefined || clusterIP === '' ? freeAddress(serviceCidr, services) : clusterIP;
  if (address === undefined) return undefined;
  const spec = { ...draft.spec, clusterIP: address, clusterIPs: [address] };
  return {
    ...draft,
    spec: type === 'ClusterIP' ? spec : { ...spec, ports: withNodePorts(spec.ports ?? [], services) },
  };
};

const freeAddress = (cidr: string, services: readonly Service[]): string | undefined => {
  const used = new Set(services.map(({ spec }) => spec.clusterIP));
  const range = addressRange(cidr);
  for (let offset = FIRST_DYNAMIC_OFFSET; offset < range.size - 1; offset += 1) {
    if (!used.has(range.at(offset))) return range.at(offset);
  }
  return undefined;
};

type Ports = NonNullable<Service['spec']['ports']>;

const withNodePorts = (ports: Ports, services: readonly Service[]): Ports => {
  const used = new Set(services.flatMap(({ spec }) => (spec.ports ?? []).map(({ nodePort }) => nodePort)));
  return ports.map((port) => {
    if (port.nodePort !== undefined && port.nodePort !== 0) return port;
    let nodePort = NODE_PORT_MIN;
    while (used.has(nodePort) && nodePort < NODE_PORT_MAX) nodePort += 1;
    used.add(nodePort);
    return { ...port, nodePort };
  });
};
