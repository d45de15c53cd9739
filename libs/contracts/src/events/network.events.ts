import * as z from 'zod';
import { ClusterUid, NodeName } from '../ids.js';
import { DesiredNetwork, NETWORK_PARTS, NetworkRevision } from '../network/desired.network.js';
import { defineEvent } from './definition.js';

const WORDS_MAX = 2_000;

const of = {
  uid: ClusterUid,
  node: NodeName,
  revision: NetworkRevision.describe('Of its content'),
  attempt: z.int().min(1).describe('Grows when an operator asks for another try of the same content'),
};

/**
 * The network configuration of nodes: the desired state, written by upgrade-svc, and the outcome, written by agents.
 */
export const networkEvents = {
  NetworkRetryRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'A retry was requested for nodes that failed to apply their network configuration.',
    data: z.strictObject({ uid: ClusterUid }),
  }),
  DesiredNetworkSet: defineEvent({
    version: 1,
    writer: 'upgrade-svc',
    context: 'desired-<node>',
    doc: 'The node must have exactly this network configuration.',
    data: z.strictObject({ ...of, ...DesiredNetwork.shape }),
  }),
  NodeNetworkApplied: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'The node has the network configuration that is desired, and still reaches NATS and the Kubernetes API.',
    data: z.strictObject(of),
  }),
  NodeNetworkFailed: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'The node could not apply its desired network configuration. What was reverted is as it was before, and is not retried until it changes or an operator requests it.',
    data: z.strictObject({
      ...of,
      failures: z
        .array(
          z.strictObject({
            part: z.enum(NETWORK_PARTS),
            command: z.string().max(WORDS_MAX),
            message: z.string().max(WORDS_MAX).describe('What the command said'),
            reverted: z.boolean(),
          }),
        )
        .min(1)
        .max(NETWORK_PARTS.length),
    }),
  }),
} as const;
