import ipaddr from 'ipaddr.js';

/** The canonical form for comparisons: `FD00:0::1` is `fd00:0:0:0:0:0:0:1`. Other text is only lowercased. */
export const normalAddress = (text: string): string =>
  ipaddr.isValid(text) ? ipaddr.parse(text).toNormalizedString() : text.toLowerCase();

export const isSameAddress = (one: string, other: string): boolean => normalAddress(one) === normalAddress(other);

export const isIpv6Address = (text: string): boolean => text.includes(':');

/** Whether the network (`10.0.0.0/24`) contains the address; false for invalid text and across families. */
export const isInNetwork = (address: string, cidr: string): boolean => {
  if (!ipaddr.isValid(address) || !ipaddr.isValidCIDR(cidr)) return false;
  const [network, prefix] = ipaddr.parseCIDR(cidr);
  const parsed = ipaddr.parse(address);
  return parsed.kind() === network.kind() && parsed.match(network, prefix);
};

/** Whether two networks overlap: the smaller one lies in the larger one. */
export const networksOverlap = (first: string, second: string): boolean => {
  if (!ipaddr.isValidCIDR(first) || !ipaddr.isValidCIDR(second)) return false;
  const [one, onePrefix] = ipaddr.parseCIDR(first);
  const [other, otherPrefix] = ipaddr.parseCIDR(second);
  return one.kind() === other.kind() && one.match(other, Math.min(onePrefix, otherPrefix));
};

/** The IP address in a URL, or in the `<host>:<port>/<path>` of a registry; undefined: the host is a name. */
export const addressInUrl = (text: string): string | undefined => {
  const rest = text.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/^[^/@]*@/, '');
  const authority = rest.split(/[/?#]/, 1)[0] ?? '';
  const host = /^\[([^\]]+)\]/.exec(authority)?.[1] ?? authority.replace(/:\d+$/, '');
  return ipaddr.isValid(host) && (host.includes(':') || ipaddr.IPv4.isValidFourPartDecimal(host)) ? host : undefined;
};
