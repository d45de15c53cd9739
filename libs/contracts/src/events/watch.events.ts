import * as z from 'zod';
import { ClusterName, ClusterUid, ConnectionName, Namespace, NodeName } from '../ids.js';
import { PROVIDER_ID_MAX, PROVIDER_TEXT_MAX } from '../watch.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const connection = ConnectionName;
const node = NodeName;
const requestId = z.string().min(1).max(200);
const providerId = z.string().describe("<provider>://<the provider's id>");
const orphanId = z.string().min(1).max(PROVIDER_ID_MAX).describe("The provider's id");

/** Differences that infra-svc finds when it lists the machines of a connection. Each change is recorded once. */
export const watchEvents = {
  VmGone: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The provider no longer lists a machine that runs according to the log. Two consecutive lists agree; a provider that does not answer does not count. Recorded again when the decision about its replacement changes.',
    data: z.strictObject({
      uid,
      node,
      requestId: requestId.describe('Identifies the replacement that follows from it'),
      connection,
      providerId,
      repair: z.enum(['replace', 'none']).describe('replace: the node is removed, and its pool is filled again'),
      reason: z.string().describe('Why it is not replaced automatically; empty: it is'),
    }),
  }),
  VmsMissing: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: "The provider no longer lists a large share of a cluster's machines. Nothing is repaired while so many are missing; those that are still missing when fewer are count as gone (VmGone).",
    data: z.strictObject({
      uid,
      connection,
      nodes: z.array(node).min(1).describe('Machines that are missing now and were not before'),
      missing: z.int().min(1).describe('All machines of the cluster that this look did not find'),
      total: z.int().min(1).describe('Machines of the cluster that run according to the log'),
    }),
  }),
  VmReturned: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The provider lists a machine again that was gone or missing.',
    data: z.strictObject({ uid, node, providerId }),
  }),
  VmStopped: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The provider reports that a machine is stopped. It still exists.',
    data: z.strictObject({ uid, node }),
  }),
  VmStarted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The provider reports that a machine that was stopped runs again.',
    data: z.strictObject({ uid, node }),
  }),
  VmAddressChanged: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The provider reports other addresses of a machine. Its SSH host key stays pinned.',
    data: z.strictObject({
      uid,
      node,
      publicIp: z.string(),
      privateIp: z.string(),
      ssh: z.strictObject({ host: z.string(), port: z.int().min(1).max(65_535) }),
    }),
  }),
  OrphanVmFound: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: "The provider lists a machine that carries Fairlead's labels and belongs to no cluster. It is never deleted automatically.",
    data: z.strictObject({
      connection,
      id: orphanId,
      name: z.string().max(PROVIDER_TEXT_MAX),
      group: z.string().max(PROVIDER_TEXT_MAX).describe('<namespace>.<cluster>.<connection>'),
      status: z.enum(['creating', 'running', 'stopped', 'failed']),
      spec: z
        .string()
        .max(PROVIDER_TEXT_MAX)
        .optional()
        .describe('Its machine type; absent: the provider does not say'),
      zone: z.string().max(PROVIDER_TEXT_MAX).optional().describe('Its zone; absent: the provider does not say'),
    }),
  }),
  OrphanVmGone: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'The provider no longer lists an orphaned machine, or it belongs to a cluster now.',
    data: z.strictObject({ connection, id: orphanId }),
  }),
  OrphanVmAdopted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'An orphaned machine has become the machine of a node, at the request of an administrator.',
    data: z.strictObject({ connection, id: orphanId, namespace: Namespace, cluster: ClusterName, uid, node }),
  }),
  OrphanVmDeleted: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'An orphaned machine was deleted at the request of an administrator.',
    data: z.strictObject({ connection, id: orphanId }),
  }),
  OrphanVmKept: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'An orphaned machine was not deleted although an administrator requested it.',
    data: z.strictObject({ connection, id: orphanId, reason: z.string() }),
  }),
} as const;
