import ipaddr from 'ipaddr.js';

/**
 * The addresses to which Fairlead connects on behalf of users: public ones, and the ranges that its administrator
 * allows.
 */

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * A range of addresses: its first address, the prefix length, and the only allowed port; without one, every port is
 * allowed.
 */
export type AddressRange = readonly [first: Address, length: number, port?: number];

/** Cloud metadata services, which return credentials and configuration; some have public addresses. */
const METADATA: readonly string[] = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
].map((address) => ipaddr.parse(address).toString());

const KINDS: Readonly<Record<string, string>> = {
  loopback: 'a loopback address',
  linkLocal: 'a link-local address',
  private: 'a private address',
  uniqueLocal: 'a private address',
  multicast: 'a multicast address',
  broadcast: 'a broadcast address',
  unspecified: 'an unspecified address',
  carrierGradeNat: 'a shared address (carrier-grade NAT)',
};
const RESERVED = 'a reserved address';

const BITS = { ipv4: 32, ipv6: 128 } as const;

/** Contains all public IPv6 addresses; ipaddr.js also classifies others as unicast, such as ::127.0.0.1. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

const isWithin = (address: Address, [first, length]: AddressRange): boolean =>
  address.kind() === first.kind() && address.match(first, length);

const isMetadata = (address: Address): boolean => METADATA.includes(address.toString());

/** The kind of a non-public address; undefined: it is public. */
const specialKindOf = (address: Address): string | undefined => {
  if (isMetadata(address)) return 'a metadata address of a cloud';
  const range: string = address.range();
  if (range !== 'unicast') return KINDS[range] ?? RESERVED;
  return address.kind() === 'ipv6' && !isWithin(address, GLOBAL_UNICAST) ? RESERVED : undefined;
};

/** A metadata address must be allowed by a range of its own, never as part of a wider one. */
const isAllowed = (address: Address, port: number | undefined, allowed: readonly AddressRange[]): boolean =>
  allowed.some(
    (range) =>
      isWithin(address, range) &&
      (range[2] === undefined || range[2] === port) &&
      (!isMetadata(address) || range[1] === BITS[address.kind()]),
  );

/** Deprecated (RFC 4291); ipaddr.js confuses it with the IPv4-mapped form. */
const IPV4_COMPATIBLE = /^::\d+(\.\d+){3}$/;

/**
 * The kind of an address to which no connection is allowed at this port; undefined: allowed. An IPv4-mapped IPv6
 * address is treated as its IPv4 address.
 */
export const faultOfAddress = (text: string, allowed: readonly AddressRange[], port?: number): string | undefined => {
  if (!ipaddr.isValid(text)) return 'not an address';
  if (IPV4_COMPATIBLE.test(text)) return RESERVED;
  const address = ipaddr.process(text);
  return isAllowed(address, port, allowed) ? undefined : specialKindOf(address);
};

const PORT_MAX = 65_535;
/** `127.0.0.1/32:8443` or `[fd00::/8]:8443`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/;

const rangeOf = (text: string): AddressRange | undefined => {
  const [, ipv6, ipv4, digits] = WITH_PORT.exec(text) ?? [];
  if (digits === undefined) return addressesOf(text);
  const [range, port] = [addressesOf(ipv6 ?? ipv4 ?? ''), Number(digits)];
  return range === undefined || port < 1 || port > PORT_MAX ? undefined : [range[0], range[1], port];
};

const addressesOf = (text: string): AddressRange | undefined => {
  const isIpv4 = ipaddr.IPv4.isValidCIDRFourPartDecimal(text);
  if (!isIpv4 && !ipaddr.IPv6.isValidCIDR(text)) return undefined;
  const [address, length] = ipaddr.parseCIDR(text);
  const first = isIpv4 ? ipaddr.IPv4.networkAddressFromCIDR(text) : ipaddr.IPv6.networkAddressFromCIDR(text);
  const isUsable = first.toString() === address.toString() && address.range() !== 'ipv4Mapped';
  return isUsable ? [address, length] : undefined;
};

export interface AddressRanges {
  readonly ranges: readonly AddressRange[];
  /** Invalid ranges: no prefix, host bits set, or an IPv4 range in IPv6 form. */
  readonly faults: readonly string[];
}

/** Parses ranges like `10.0.0.0/8,fd00::/8`, each with an optional port. */
export const parseRanges = (text: string): AddressRanges => {
  const read = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => ({ part, range: rangeOf(part) }));
  return {
    ranges: read.flatMap(({ range }) => (range === undefined ? [] : [range])),
    faults: read.flatMap(({ part, range }) => (range === undefined ? [part] : [])),
  };
};
