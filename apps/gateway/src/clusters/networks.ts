import ipaddr from 'ipaddr.js';

/** An IPv4 network. */
export interface Network {
  readonly address: ipaddr.IPv4;
  readonly prefix: number;
}

/** Reads `10.244.0.0/16`; undefined for anything that is not four decimal parts up to 255 and a prefix from 1 to 32. */
export const parseNetwork = (cidr: string): Network | undefined => {
  if (!ipaddr.IPv4.isValidCIDRFourPartDecimal(cidr)) return undefined;
  const [address, prefix] = ipaddr.IPv4.parseCIDR(cidr);
  return prefix === 0 ? undefined : { address, prefix };
};

/** Two networks overlap when the smaller one lies in the larger one. */
export const overlap = (one: Network, other: Network): boolean => {
  const prefix = Math.min(one.prefix, other.prefix);
  return one.address.match(other.address, prefix);
};

/** `10.244.7.1/16` is the network 10.244.0.0/16. */
export const maskBits = ({ address, prefix }: Network): string =>
  `${ipaddr.IPv4.networkAddressFromCIDR(`${address.toString()}/${prefix}`).toString()}/${prefix}`;
