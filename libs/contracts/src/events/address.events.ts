import * as z from 'zod';
import { ClusterUid, NodeName } from '../ids.js';
import { AddressReports, ApiUpstreams } from '../network/address.reports.js';
import { defineEvent } from './definition.js';

/** Reports about virtual addresses from the nodes that may hold them. */
export const addressEvents = {
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
