/** As haproxy reads a place: an IPv6 address stands in brackets. */
export const hostPort = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
