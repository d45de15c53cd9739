/** An IPv4 network as numbers. */
interface Range {
  readonly first: number;
  readonly prefix: number;
}

const ADDRESS_BITS = 32;
const OCTET = 256;
/** AWS takes networks from /16 to /28. */
const PREFIX_MIN = 16;
const PREFIX_MAX = 28;
/** The network is divided into four, for at most as many zones. */
const PARTS_BITS = 2;
const PARTS = 2 ** PARTS_BITS;

const rangeOf = (cidr: string): Range => {
  const [address = '', prefix = ''] = cidr.split('/');
  const first = address.split('.').reduce((sum, octet) => sum * OCTET + Number(octet), 0);
  return { first, prefix: Number(prefix) };
};

const sizeOf = ({ prefix }: Range): number => 2 ** (ADDRESS_BITS - prefix);

const cidrOf = ({ first, prefix }: Range): string => {
  const octets = [3, 2, 1, 0].map((power) => Math.floor(first / OCTET ** power) % OCTET);
  return `${octets.join('.')}/${prefix}`;
};

const overlap = (one: Range, other: Range): boolean =>
  one.first < other.first + sizeOf(other) && other.first < one.first + sizeOf(one);

export interface PlacedSubnet {
  readonly zone: string;
  readonly cidr: string;
}

/** Why a network cannot be made at AWS; undefined: it can. */
export const networkFault = (cidr: string): string | undefined => {
  const { prefix } = rangeOf(cidr);
  return prefix < PREFIX_MIN || prefix + PARTS_BITS > PREFIX_MAX
    ? `${cidr} cannot be a VPC with ${PARTS} subnets: it must be between /${PREFIX_MIN} and /${PREFIX_MAX - PARTS_BITS}`
    : undefined;
};

/** A part of the network for each zone that has no subnet yet; undefined: there is no part left. */
export const missingSubnets = (
  cidr: string,
  zones: readonly string[],
  existing: readonly PlacedSubnet[],
): readonly PlacedSubnet[] | undefined => {
  const { first, prefix } = rangeOf(cidr);
  const part = { prefix: prefix + PARTS_BITS };
  const parts = Array.from({ length: PARTS }, (_, at) => ({ ...part, first: first + at * sizeOf({ first, ...part }) }));
  const taken = existing.map((subnet) => rangeOf(subnet.cidr));
  const free = parts.filter((one) => !taken.some((other) => overlap(one, other)));
  const missing = zones.filter((zone) => !existing.some((subnet) => subnet.zone === zone));
  if (missing.length > free.length) return undefined;
  return missing.map((zone, at) => ({ zone, cidr: cidrOf(free[at]!) }));
};
