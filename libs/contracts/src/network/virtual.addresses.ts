import * as z from 'zod';
import { Duration } from '../durations.js';
import { PoolName } from '../ids.js';

export const VIRTUAL_ADDRESSES_MAX = 8;
export const TRANSPORTS_MAX = 16;
const POOLS_MAX = 20;
const NETWORKS_MAX = 100;

/** Part of the names of firewall rules, and of sections in the configurations of haproxy and keepalived. */
export const AddressLabel = z.string().regex(/^[a-z]([-a-z0-9]{0,22}[a-z0-9])?$/, {
  error: 'is not a name: a lowercase letter, then letters, digits and hyphens, at most 24 characters',
});

const port = z.int().min(1).max(65_535);

/** Path of a health check, written as one word into haproxy's configuration. */
const path = z
  .string()
  .max(256)
  .regex(/^\/[\w\-./~%?=&+,;:@]*$/, { error: 'is not a path: it begins with / and has neither blanks nor quotes' });

const pool = PoolName.describe('A pool of the manifest, or control-plane');

/** How the holder of an address checks the nodes behind it. */
export const VirtualHealthCheck = z
  .strictObject({
    protocol: z
      .enum(['tcp', 'http', 'https'])
      .default('tcp')
      .describe('tcp: the port accepts connections; http and https: it answers a GET'),
    path: path.default('/').describe('Of the GET; without a meaning for tcp'),
    code: z.int().min(100).max(599).default(200).describe('The status that the GET must have'),
    interval: Duration.default('2s').describe(
      'From 1s to 1m. Three failures take a node out, two answers bring it back',
    ),
  })
  .meta({ id: 'VirtualHealthCheck', description: 'How nodes behind a virtual address are checked' });
export type VirtualHealthCheck = z.output<typeof VirtualHealthCheck>;

/** One port of a virtual address, and its destination. */
export const Transport = z
  .strictObject({
    name: AddressLabel.describe('Unique on its address'),
    frontendPort: port.describe('Where clients connect to'),
    backendPort: port.describe('Where connections go to on the nodes, e.g. the port of a NodePort service'),
    backends: z.array(pool).min(1).max(POOLS_MAX).describe('Pools on whose nodes connections end'),
    healthCheck: VirtualHealthCheck.prefault({}),
    allow: z
      .array(z.union([z.cidrv4(), z.cidrv6()], { error: 'is not a network, e.g. 10.0.0.0/8 or 2001:db8::/32' }))
      .min(1)
      .max(NETWORKS_MAX)
      .default(['0.0.0.0/0', '::/0'])
      .describe('Networks of clients that may connect; connections of all others are refused'),
    proxyProtocol: z
      .boolean()
      .default(false)
      .describe(
        'Connections to nodes begin with a PROXY protocol header (version 2), which has the address of the client',
      ),
  })
  .meta({ id: 'VirtualAddressTransport', description: 'One port of a virtual address' });
export type Transport = z.output<typeof Transport>;

/** An address for services of the cluster, held by one of its nodes at a time. */
export const VirtualAddress = z
  .strictObject({
    name: AddressLabel.describe('Unique in the cluster'),
    address: z
      .union([z.ipv4(), z.ipv6()], { error: 'is not an IP address' })
      .describe('Free, and in the network of the nodes that hold it'),
    interface: z
      .string()
      .regex(/^[A-Za-z0-9][\w.-]{0,14}$/, { error: 'is not the name of a network interface' })
      .optional()
      .describe('Left out: the interface that has the address of the node'),
    holders: z.array(pool).min(1).max(POOLS_MAX).describe('Pools whose nodes may hold the address'),
    transports: z.array(Transport).min(1).max(TRANSPORTS_MAX),
  })
  .meta({ id: 'VirtualAddress', description: 'An address for services, held by one node at a time (VRRP)' });
export type VirtualAddress = z.output<typeof VirtualAddress>;

export const VirtualAddresses = z.array(VirtualAddress).max(VIRTUAL_ADDRESSES_MAX);
