import ipaddr from 'ipaddr.js';

/** Which addresses the platform connects to for a user: public ones, and the ranges that its administrator allows. */

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A range of addresses: its first one, the length of its prefix, and the only port that is allowed there; without one, all are. */
export type AddressRange = readonly [first: Address, length: number, port?: number];

/** Where clouds answer their machines with credentials and configuration; some of these are public addresses. */
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

/** Public IPv6 addresses are in here; ipaddr.js calls others unicast, too, like ::127.0.0.1. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

const isWithin = (address: Address, [first, length]: AddressRange): boolean =>
  address.kind() === first.kind() && address.match(first, length);

const isMetadata = (address: Address): boolean => METADATA.includes(address.toString());

/** What kind of address it is, unless it is a public one. */
const specialKindOf = (address: Address): string | undefined => {
  if (isMetadata(address)) return 'a metadata address of a cloud';
  const range: string = address.range();
  if (range !== 'unicast') return KINDS[range] ?? RESERVED;
  return address.kind() === 'ipv6' && !isWithin(address, GLOBAL_UNICAST) ? RESERVED : undefined;
};

/** A metadata address is allowed only by a range of its own, never as part of a wider one. */
const isAllowed = (address: Address, port: number | undefined, allowed: readonly AddressRange[]): boolean =>
  allowed.some(
    (range) =>
      isWithin(address, range) &&
      (range[2] === undefined || range[2] === port) &&
      (!isMetadata(address) || range[1] === BITS[address.kind()]),
  );

/** Deprecated (RFC 4291), and ipaddr.js takes it for the IPv4-mapped form. */
const IPV4_COMPATIBLE = /^::\d+(\.\d+){3}$/;

/**
 * What kind of address it is that may not be asked at this port; undefined: it may be. An IPv4-mapped IPv6 address counts as its IPv4
 * address.
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
  /** What is no range: no prefix, host bits set, or an IPv4 range in IPv6's form. */
  readonly faults: readonly string[];
}

/** Reads ranges like `10.0.0.0/8,fd00::/8`, each with a port of its own or without one. */
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
