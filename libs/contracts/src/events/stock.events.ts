import * as z from 'zod';
import { Cause } from '../failures.js';
import { ClusterName, ClusterUid, ConnectionName, Namespace, NodeName } from '../ids.js';
import { HostBaseline, HostKey, OwnHost } from '../own-hosts.js';
import { defineEvent } from './definition.js';

const connection = ConnectionName;
const uid = ClusterUid;
const host = NodeName.describe('Its name in the inventory');

/** Which cluster uses which inventory hosts: no cloud API records it. Written by infra-svc. */
export const stockEvents = {
  HostsTaken: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'stock-<connection>',
    doc: 'These hosts of the inventory are allocated to a cluster, and to no other.',
    data: z.strictObject({
      connection,
      uid,
      namespace: Namespace,
      cluster: ClusterName,
      hosts: z
        .array(
          z.strictObject({
            machine: NodeName,
            host: OwnHost.describe('As the inventory has it now: it is reset there, whatever the inventory says then'),
            baseline: HostBaseline.optional().describe(
              'Digests of what has to be the same when it is given back; absent: not compared',
            ),
          }),
        )
        .min(1),
    }),
  }),
  HostReturned: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'stock-<connection>',
    doc: 'The host was wiped, nothing of its cluster was found on it, and it is free.',
    data: z.strictObject({ connection, uid, machine: NodeName, host }),
  }),
  HostWithheld: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'stock-<connection>',
    doc: 'The cluster has released the host, but it could not be reset: it is withheld from the inventory until it can be.',
    data: z.strictObject({ connection, uid, machine: NodeName, host, cause: Cause }),
  }),
  HostReadmitted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'stock-<connection>',
    doc: 'A host that was withheld from the inventory has been reset, or was accepted by an administrator, and is free.',
    data: z.strictObject({
      connection,
      host,
      accepted: z
        .boolean()
        .optional()
        .describe('An administrator accepted it as it is, and who used it last does not count any more'),
    }),
  }),
  HostKeyPinned: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'stock-<connection>',
    doc: 'The first SSH host key that a server of the connection has presented; from now on any other is refused until it is accepted.',
    data: z.strictObject({
      connection,
      host: host.nullable().describe('Its name in the inventory; null: the jump host'),
      address: z.string().describe('<address>:<port> where it was seen'),
      hostKey: HostKey,
    }),
  }),
  HostsBooked: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'stock-<connection>',
    doc: 'These hosts of the inventory are booked for a cluster, and for no other, from one moment to another. It replaces an earlier booking of the cluster.',
    data: z.strictObject({
      connection,
      uid,
      namespace: Namespace,
      cluster: ClusterName,
      startsAt: z.iso.datetime(),
      endsAt: z.iso.datetime(),
      hosts: z.array(host).min(1),
    }),
  }),
  HostBookingEnded: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'stock-<connection>',
    doc: 'The booking of a cluster was released: its hosts can be booked for another one.',
    data: z.strictObject({ connection, uid }),
  }),
  ApiAddressTaken: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'stock-<connection>',
    doc: 'The address is allocated to the API of a cluster, and to no other.',
    data: z.strictObject({ connection, uid, namespace: Namespace, cluster: ClusterName, address: z.string() }),
  }),
  ApiAddressReturned: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'stock-<connection>',
    doc: 'The address is free for the API of another cluster.',
    data: z.strictObject({ connection, uid, address: z.string() }),
  }),
  StockClosed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'stock-<connection>',
    doc: 'This incarnation of a cluster can no longer allocate anything from the inventory, however late it asks.',
    data: z.strictObject({ connection, uid }),
  }),
} as const;
