import ipaddr from 'ipaddr.js';

/** RFC 2544's range for benchmarks, which no real network uses. */
export const HOST_RANGE = '198.18.0.0/15';
const PREFIX_MIN = 16;
const PREFIX_MAX = 26;

/** The addresses in a network of hosts. */
export interface AddressPlan {
  readonly prefix: number;
  /** The bridge: the hosts' gateway, and the name server that refuses. */
  readonly gateway: string;
  /** Fairlead's address, as seen by the hosts. */
  readonly uplink: string;
  readonly hosts: { readonly first: number; readonly last: number };
  readonly balancers: { readonly first: number; readonly last: number };
}

/** Low addresses are reserved for manual use. */
const FIRST_HOST_OFFSET = 11;
const BALANCERS_MAX = 32;

const toNumber = (address: string): number =>
  ipaddr.IPv4.parse(address)
    .toByteArray()
    .reduce((sum, byte) => sum * 256 + byte, 0);

export const toAddress = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');

/** undefined: not a valid network for hosts. */
export const addressPlanOf = (cidr: string): AddressPlan | undefined => {
  const parsed = parse(cidr);
  if (parsed === undefined) return undefined;
  const { base, prefix } = parsed;
  const size = 2 ** (32 - prefix);
  const uplink = base + size - 2;
  const firstBalancer = uplink - BALANCERS_MAX;
  return {
    prefix,
    gateway: toAddress(base + 1),
    uplink: toAddress(uplink),
    hosts: { first: base + FIRST_HOST_OFFSET, last: firstBalancer - 1 },
    balancers: { first: firstBalancer, last: uplink - 1 },
  };
};

const parse = (cidr: string): { readonly base: number; readonly prefix: number } | undefined => {
  if (!ipaddr.IPv4.isValidCIDR(cidr)) return undefined;
  const [address, prefix] = ipaddr.IPv4.parseCIDR(cidr);
  if (!address.match(ipaddr.IPv4.parseCIDR(HOST_RANGE)) || prefix < PREFIX_MIN || prefix > PREFIX_MAX) return undefined;
  const base = toNumber(address.toString());
  return base % 2 ** (32 - prefix) === 0 ? { base, prefix } : undefined;
};

/** Whether two networks overlap. */
export const overlap = (one: string, other: string): boolean => {
  const [first, firstPrefix] = ipaddr.IPv4.parseCIDR(one);
  const [second, secondPrefix] = ipaddr.IPv4.parseCIDR(other);
  return firstPrefix <= secondPrefix ? second.match(first, firstPrefix) : first.match(second, secondPrefix);
};
