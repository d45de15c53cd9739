/** Files and units of the load balancer of the API servers, if it runs on the control planes themselves. */
export const BALANCER = {
  haproxy: '/etc/fairlead/balancer/haproxy.cfg',
  keepalived: '/etc/fairlead/balancer/keepalived.conf',
  check: '/etc/fairlead/balancer/check.sh',
  /** haproxy's socket with the state of the API servers. */
  stats: '/run/fairlead/haproxy.sock',
  units: ['fairlead-keepalived.service', 'fairlead-haproxy.service'],
} as const;

/**
 * The load balancer of virtual addresses for services, on the nodes that may hold one; separate from that of the API.
 */
export const ADDRESSES = {
  folder: '/etc/fairlead/addresses',
  haproxy: '/etc/fairlead/addresses/haproxy.cfg',
  keepalived: '/etc/fairlead/addresses/keepalived.conf',
  check: '/etc/fairlead/addresses/check.sh',
  /** haproxy's socket with the state of the nodes behind the addresses. */
  stats: '/run/fairlead/addresses-haproxy.sock',
  units: ['fairlead-addresses-keepalived.service', 'fairlead-addresses-haproxy.service'],
} as const;
