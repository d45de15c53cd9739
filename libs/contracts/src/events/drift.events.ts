import * as z from 'zod';
import { ClusterUid, NodeName } from '../ids.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const node = NodeName;
const requestId = z.string().min(1).max(200);
const items = z.array(z.string()).min(1).describe('What differs: <item>/<what>');

const fact = <Data extends z.ZodType>(doc: string, data: Data) =>
  defineEvent({ version: 1, writer: 'upgrade-svc', context: 'rollout', doc, data });

/** Why drift is reported instead of repaired. */
export const DRIFT_SUSPENSIONS = ['Recurring', 'NotRepaired'] as const;

/** The response to a node that differs from its desired state for a reason other than Fairlead's own changes. */
export const driftEvents = {
  DriftRepairRequested: fact(
    'A node differs from its desired state, and its agent will be permitted to repair that.',
    z.strictObject({
      ...{ uid, requestId, node, items },
      drain: z.literal(true).optional().describe('Like a repair that was requested: the node is drained before'),
    }),
  ),
  DriftRepaired: fact(
    'The node is as desired again, by the repair or by someone else.',
    z.strictObject({ uid, requestId, node, tookMs: z.int().min(0) }),
  ),
  DriftRepairSuspended: fact(
    'The node is not repaired until this moment: what was repaired differs again and again, or a repair did not help.',
    z.strictObject({
      uid,
      node,
      items,
      reason: z.enum(DRIFT_SUSPENSIONS),
      repairs: z.int().min(0).describe('Within the last 10 minutes'),
      until: z.iso.datetime(),
    }),
  ),
} as const;
