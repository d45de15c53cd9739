/** The balancer in front of the API servers, where it stands on the control planes themselves. Files and units of our own. */
export const BALANCER = {
  haproxy: '/etc/fairlead/balancer/haproxy.cfg',
  keepalived: '/etc/fairlead/balancer/keepalived.conf',
  check: '/etc/fairlead/balancer/check.sh',
  units: ['fairlead-keepalived.service', 'fairlead-haproxy.service'],
} as const;
