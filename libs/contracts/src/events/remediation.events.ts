import * as z from 'zod';
import { Cause } from '../failures.js';
import { ClusterUid, NodeName } from '../ids.js';
import { NodeCondition } from '../node.conditions.js';
import { RemediationAction, SkipReason, SuspensionReason, UnhealthyCondition, UnhealthyCount } from '../remediation.js';
import { ReplacementOrder } from '../replacement-orders.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const node = NodeName;
const pool = z.string();

const fact = <Data extends z.ZodType>(doc: string, data: Data) =>
  defineEvent({ version: 1, writer: 'upgrade-svc', context: 'rollout', doc, data });

const one = {
  uid,
  requestId: z.string().describe('Of the RemediationRequested'),
  node,
  pool,
  action: RemediationAction,
};

const unhealthy = {
  condition: UnhealthyCondition,
  since: z.iso.datetime(),
  nodeCondition: NodeCondition.optional().describe('Absent unless the condition is NodeCondition'),
};

/**
 * The outcome of pool health checks. In the stream of rollouts, so that an upgrade and a remediation cannot start at
 * the same time.
 */
export const remediationEvents = {
  RemediationRequested: fact(
    'A node is unhealthy and will be rebooted or replaced.',
    z.strictObject({
      ...one,
      order: ReplacementOrder.optional().describe('Of a replacement'),
      means: z
        .enum(['power'])
        .optional()
        .describe('Of a reboot: its power is switched off and on; absent: its agent reboots it'),
      reason: z.strictObject({ ...unhealthy, ...UnhealthyCount.shape }),
      attempt: z.int().min(1).describe('Counted over the node and the nodes that it replaced'),
    }),
  ),
  RemediationSucceeded: fact(
    'The node is healthy again, or its replacement is Ready and its machine is deleted.',
    z.strictObject({ ...one, replacement: node.optional(), tookMs: z.int().min(0) }),
  ),
  RemediationFailed: fact(
    'A reboot or a replacement did not help; the cause says why.',
    z.strictObject({ ...one, cause: Cause }),
  ),
  RemediationSkipped: fact(
    'A node is unhealthy and stays as it is; recorded once until it is healthy again or the reason changes.',
    z.strictObject({ uid, node, pool, ...unhealthy, reason: SkipReason }),
  ),
  RemediationSuspended: fact(
    'No node of the pool is remediated, although one is unhealthy; recorded once until remediation resumes or the reason changes.',
    z.strictObject({ uid, pool, reason: SuspensionReason, ...UnhealthyCount.shape }),
  ),
  RemediationResumed: fact(
    'Nodes of the pool may be remediated again, or none is unhealthy.',
    z.strictObject({ uid, pool }),
  ),
} as const;
