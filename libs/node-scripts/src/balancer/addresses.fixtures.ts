import { NodeLoadBalancing } from '@fairlead/contracts';

/** An ingress behind HTTPS health checks and a database for a few networks; the second address is IPv6. */
export const LOAD_BALANCING: NodeLoadBalancing = NodeLoadBalancing.parse({
  self: '198.18.7.21',
  pools: {
    web: [
      { node: 'demo-web-2-m3v8c', address: '198.18.7.32' },
      { node: 'demo-web-1-x7k2p', address: '198.18.7.31' },
      { node: 'demo-web-3-b9d4z', address: '198.18.7.33', reserve: true },
    ],
    db: [{ node: 'demo-db-1-x7k2p', address: '198.18.7.41' }],
  },
  addresses: [
    {
      name: 'ingress',
      address: '198.18.7.5',
      routerId: 5,
      priority: 254,
      peers: ['198.18.7.23', '198.18.7.22'],
      transports: [
        {
          name: 'https',
          frontendPort: 443,
          backendPort: 30443,
          healthCheck: { protocol: 'https', path: '/healthz?full=1', code: 204, interval: '5s' },
          proxyProtocol: true,
          backends: ['web', 'db'],
        },
        {
          name: 'postgres',
          frontendPort: 5432,
          backendPort: 30432,
          allow: ['10.0.0.0/8', '2001:db8::/32', '192.0.2.7/32'],
          backends: ['db'],
        },
      ],
    },
    {
      name: 'api',
      address: '198.18.7.6',
      interface: 'eth1',
      routerId: 6,
      priority: 253,
      peers: [],
      transports: [
        {
          name: 'http',
          frontendPort: 80,
          backendPort: 30080,
          healthCheck: { protocol: 'http' },
          allow: Array.from({ length: 45 }, (_, at) => `10.${at}.0.0/16`),
          backends: ['gone'],
        },
      ],
    },
  ],
});

export const IPV6_LOAD_BALANCING: NodeLoadBalancing = NodeLoadBalancing.parse({
  self: '2001:db8::21',
  pools: { web: [{ node: 'demo-web-1-x7k2p', address: '2001:db8::31' }] },
  addresses: [
    {
      name: 'ingress',
      address: '2001:db8::5',
      routerId: 5,
      priority: 254,
      peers: ['2001:db8::22'],
      transports: [
        {
          name: 'https',
          frontendPort: 443,
          backendPort: 30443,
          allow: ['10.0.0.0/8', '2001:db8::/32'],
          backends: ['web'],
        },
      ],
    },
  ],
});
