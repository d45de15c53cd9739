import * as z from 'zod';
import { HOST_ADDRESSES_MAX } from '../hosts.js';
import { ClusterUid, NodeName } from '../ids.js';
import { AddressReports, ApiUpstreams } from '../network/address.reports.js';
import { defineEvent } from './definition.js';

/** Reports about addresses of nodes, and about virtual ones from the nodes that may hold them. */
export const addressEvents = {
  NodeAddressesReported: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'The addresses of the interfaces of a host that has more than one, without those of pods, of the network plugin, and of the host alone; recorded when they change.',
    data: z.strictObject({
      uid: ClusterUid,
      node: NodeName,
      addresses: z.array(z.union([z.ipv4(), z.ipv6()])).max(HOST_ADDRESSES_MAX),
    }),
  }),
  VirtualAddressesProbed: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'The state of virtual addresses, as a node that may hold them observes it; recorded when it changes.',
    data: z.strictObject({ uid: ClusterUid, node: NodeName, addresses: AddressReports }),
  }),
  ApiAddressProbed: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'Whether a control plane holds the address of the Kubernetes API that control planes share, and which API servers its holder reaches; recorded when it changes.',
    data: z.strictObject({
      uid: ClusterUid,
      node: NodeName,
      held: z.boolean(),
      /** Absent: the address is held elsewhere, or its balancer does not say. */
      upstreams: ApiUpstreams.optional(),
    }),
  }),
} as const;
