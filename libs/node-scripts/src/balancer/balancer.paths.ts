/** The balancer in front of the API servers, where it stands on the control planes themselves. Files and units of our own. */
export const BALANCER = {
  haproxy: '/etc/fairlead/balancer/haproxy.cfg',
  keepalived: '/etc/fairlead/balancer/keepalived.conf',
  check: '/etc/fairlead/balancer/check.sh',
  units: ['fairlead-keepalived.service', 'fairlead-haproxy.service'],
} as const;

/** The balancer of virtual addresses for services, on the nodes that may hold one; apart from that of the API. */
export const ADDRESSES = {
  folder: '/etc/fairlead/addresses',
  haproxy: '/etc/fairlead/addresses/haproxy.cfg',
  keepalived: '/etc/fairlead/addresses/keepalived.conf',
  check: '/etc/fairlead/addresses/check.sh',
  /** Where haproxy says what it sees of the nodes behind the addresses. */
  stats: '/run/fairlead/addresses-haproxy.sock',
  units: ['fairlead-addresses-keepalived.service', 'fairlead-addresses-haproxy.service'],
} as const;
